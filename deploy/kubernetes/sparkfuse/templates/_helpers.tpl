{{- define "sparkfuse.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end }}

{{/* Labels of every object and pod of this release. */}}
{{- define "sparkfuse.labels" -}}
app.kubernetes.io/part-of: sparkfuse
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sparkfuse.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "sparkfuse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* A change of the settings or of sparkfuse.yaml restarts the pods, because this annotation changes with them. */}}
{{- define "sparkfuse.annotations" -}}
sparkfuse.io/settings: {{ list .Values.settings .Values.config | toJson | sha256sum | trunc 16 | quote }}
{{- end }}

{{- define "sparkfuse.envFrom" -}}
- configMapRef: {name: {{ .Release.Name }}-settings}
{{- end }}

{{/* Call with (dict "root" $ "kafkaSecret" name). */}}
{{- define "sparkfuse.env" -}}
- {name: HOME, value: /tmp}
- {name: SPARKFUSE_HOME, value: /tmp/sparkfuse}
{{- if .kafkaSecret }}
- {name: SPARKFUSE_KAFKA_CONFIG, value: /etc/sparkfuse/kafka/client.properties}
{{- end }}
{{- if .root.Values.config }}
- {name: SPARKFUSE_CONFIG, value: /etc/sparkfuse/config/sparkfuse.yaml}
{{- end }}
{{- end }}

{{- define "sparkfuse.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .kafkaSecret }}
- {name: kafka, mountPath: /etc/sparkfuse/kafka, readOnly: true}
{{- end }}
{{- if .root.Values.config }}
- {name: config, mountPath: /etc/sparkfuse/config, readOnly: true}
{{- end }}
{{- end }}

{{/* 288 is 0440: the group of the pod reads the files. */}}
{{- define "sparkfuse.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .tmp | default "1Gi" }}}
{{- with .kafkaSecret }}
- name: kafka
  secret: {secretName: {{ . }}, defaultMode: 288}
{{- end }}
{{- if .root.Values.config }}
- name: config
  configMap: {name: {{ .root.Release.Name }}-config}
{{- end }}
{{- end }}
