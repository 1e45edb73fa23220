----------------------------- MODULE FuseBefore -----------------------------
(* The fuse before its new design, at commit 1feb88b. The check expects that this model violates its invariants: *)
(* it must find items 1, 2, 5 and 6 of the review of the fuse. "Code:" names files of that commit, in the        *)
(* Python package breaker (later fuse_controller) and in the plugin's package hook.                              *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Controllers, Runs,
  GivesUp,       \* item 6: the controller starts to act after a minute, also if it has not read everything
  AlertIsLate,   \* item 2: the controller may read a finding before Alertmanager has its alert
  MayHold,       \* item 1: the owner may hold the fuse
  MaySilence,    \* an operator may silence the finding's alert
  Budget, MaxTime, MaxStarts

VARIABLES
  now,
  actions,    \* the topic actions: the would_act records
  ctl,        \* the memory of each controller
  starts,
  signals,    \* the topic signals
  hook,       \* the memory of each hook
  alerts,     \* the runs whose alert Alertmanager has
  silenced,   \* whether a silence matches the alerts
  held,       \* whether spark.sparkfuse.fuse.hold is set
  despite     \* history: what should have prevented a decision or an act

vars == <<now, actions, ctl, starts, signals, hook, alerts, silenced, held, despite>>

None == [run |-> "none"]
Down == [pc |-> "down", read |-> 0, acts |-> {}, next |-> None]

Init ==
  /\ now = 0 /\ actions = <<>> /\ starts = 0 /\ signals = {} /\ silenced = FALSE /\ held = FALSE /\ despite = {}
  /\ ctl = [c \in Controllers |-> Down]
  /\ hook = [r \in Runs |-> [generation |-> -1, stops |-> 0, open |-> FALSE]]
  /\ alerts = IF AlertIsLate THEN {} ELSE Runs

Tick ==
  /\ now < MaxTime
  /\ now' = now + 1
  /\ UNCHANGED <<actions, ctl, starts, signals, hook, alerts, silenced, held, despite>>

(* Code: the alert sender reads the topic findings at the same time as the controller. *)
PostAlert(r) ==
  /\ r \notin alerts
  /\ alerts' = alerts \cup {r}
  /\ UNCHANGED <<now, actions, ctl, starts, signals, hook, silenced, held, despite>>

Silence ==
  /\ MaySilence /\ ~silenced
  /\ silenced' = TRUE
  /\ UNCHANGED <<now, actions, ctl, starts, signals, hook, alerts, held, despite>>

Hold ==
  /\ MayHold /\ ~held
  /\ held' = TRUE
  /\ UNCHANGED <<now, actions, ctl, starts, signals, hook, alerts, silenced, despite>>

(* Code: breaker/__main__.py: nothing prevents a second instance. *)
Start(c) ==
  /\ ctl[c].pc = "down" /\ starts < MaxStarts
  /\ starts' = starts + 1
  /\ ctl' = [ctl EXCEPT ![c] = [Down EXCEPT !.pc = "reading"]]
  /\ UNCHANGED <<now, actions, signals, hook, alerts, silenced, held, despite>>

(* Code: breaker/kafka.py Inputs.read and breaker/ledger.py record; a running controller reads on. *)
Read(c) ==
  LET m == ctl[c] IN
  /\ m.pc \in {"reading", "ready"}
  /\ m.read < Len(actions)
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.read = @ + 1, !.acts = @ \cup {actions[m.read + 1]}]]
  /\ UNCHANGED <<now, actions, starts, signals, hook, alerts, silenced, held, despite>>

(* Code: breaker/process.py _catch_up: gives up after CAUGHT_UP_SECONDS. *)
CatchUp(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "reading"
  /\ GivesUp \/ m.read = Len(actions)
  /\ ctl' = [ctl EXCEPT ![c].pc = "ready"]
  /\ UNCHANGED <<now, actions, starts, signals, hook, alerts, silenced, held, despite>>

(* Code: breaker/ledger.py next_generation: a time, so that the second order is the newer one. *)
Generation(m, r) ==
  CHOOSE g \in 0..(MaxTime + Budget + 4) :
    /\ \A act \in m.acts : act.run = r => g > act.generation
    /\ g >= now
    /\ g = now \/ \E act \in m.acts : act.run = r /\ g = act.generation + 1

(* Code: breaker/decision.py, breaker/silences.py: a silence counts only if Alertmanager has the alert. *)
Decide(c, r) ==
  LET m == ctl[c] IN
  /\ m.pc = "ready"
  /\ \A act \in m.acts : act.run # r
  /\ Cardinality(m.acts) < Budget
  /\ ~(silenced /\ r \in alerts)
  /\ ctl' = [ctl EXCEPT ![c].pc = "decided", ![c].next = [run |-> r, generation |-> Generation(m, r), by |-> c]]
  /\ despite' = IF silenced THEN despite \cup {"silenced"} ELSE despite
  /\ UNCHANGED <<now, actions, starts, signals, hook, alerts, silenced, held>>

(* Code: breaker/work.py _act: first the action would_act, *)
WriteAction(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "decided"
  /\ actions' = Append(actions, m.next)
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.pc = "written", !.acts = @ \cup {m.next}]]
  /\ UNCHANGED <<now, starts, signals, hook, alerts, silenced, held, despite>>

(* then the signal, in a write of its own. *)
SendSignal(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "written"
  /\ signals' = signals \cup {m.next}
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.pc = "ready", !.next = None]]
  /\ UNCHANGED <<now, actions, starts, hook, alerts, silenced, held, despite>>

Crash(c) ==
  /\ ctl[c].pc # "down"
  /\ ctl' = [ctl EXCEPT ![c] = Down]
  /\ UNCHANGED <<now, actions, starts, signals, hook, alerts, silenced, held, despite>>

(* Code: hook/Hook.java carryOut: a held signal opens the state too, and check() then raises in job code. *)
Receive(r, s) ==
  /\ s.run = r
  /\ s.generation > hook[r].generation
  /\ hook' = [hook EXCEPT ![r] =
       [generation |-> s.generation, stops |-> IF held THEN @.stops ELSE @.stops + 1, open |-> TRUE]]
  /\ UNCHANGED <<now, actions, ctl, starts, signals, alerts, silenced, held, despite>>

SomeSignal(r) == \E s \in signals : Receive(r, s)

Next ==
  \/ Tick
  \/ Silence
  \/ Hold
  \/ \E c \in Controllers : Start(c)
  \/ \E c \in Controllers : Read(c)
  \/ \E c \in Controllers : CatchUp(c)
  \/ \E c \in Controllers, r \in Runs : Decide(c, r)
  \/ \E c \in Controllers : WriteAction(c)
  \/ \E c \in Controllers : SendSignal(c)
  \/ \E c \in Controllers : Crash(c)
  \/ \E r \in Runs : PostAlert(r)
  \/ \E r \in Runs : SomeSignal(r)

Spec == Init /\ [][Next]_vars

SilenceRespected == "silenced" \notin despite
BudgetKept == \A r \in Runs : hook[r].stops <= Budget
NoFaultStopsJob == \A r \in Runs : hook[r].open => hook[r].stops > 0
================================================================================
