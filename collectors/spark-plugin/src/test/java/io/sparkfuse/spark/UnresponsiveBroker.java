package io.sparkfuse.spark;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** Listens on a port like a broker, and never answers. */
final class UnresponsiveBroker implements Closeable {
  private final ServerSocket listener;
  private final List<Socket> filling = new ArrayList<>();

  private UnresponsiveBroker(int backlog) throws IOException {
    listener = new ServerSocket(0, backlog, InetAddress.getByName("127.0.0.1"));
  }

  /** Accepts connections and never reads from them. */
  static UnresponsiveBroker silent() throws IOException {
    return new UnresponsiveBroker(50);
  }

  /**
   * Fills the accept queue, so that the operating system drops the first packet of each further
   * connection.
   */
  static UnresponsiveBroker droppingConnections() throws IOException {
    UnresponsiveBroker hole = new UnresponsiveBroker(1);
    while (hole.fillsOneMore()) {}
    return hole;
  }

  private boolean fillsOneMore() throws IOException {
    Socket socket = new Socket();
    filling.add(socket);
    try {
      socket.connect(listener.getLocalSocketAddress(), 300);
      return true;
    } catch (java.net.SocketTimeoutException full) {
      return false;
    }
  }

  String address() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  @Override
  public void close() throws IOException {
    for (Socket socket : filling) {
      socket.close();
    }
    listener.close();
  }
}
