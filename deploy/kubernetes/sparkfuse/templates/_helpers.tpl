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

{{/* Both jobs of the home cluster, and copies of them for each source; as YAML. */}}
{{- define "sparkfuse.jobs" -}}
{{- $all := deepCopy .Values.jobs }}
{{- range $source, $given := .Values.sources }}
{{- range $name, $job := $.Values.jobs }}
{{- $own := dict "source" $source "sourceSecret" $given.kafkaSecret "initialSavepointPath" "" "savepointRedeployNonce" 0 }}
{{- $_ := set $all (printf "%s-%s" $name $source) (mergeOverwrite (deepCopy $job) $own (get $given $name | default dict)) }}
{{- end }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/* Call with (dict "root" $ "kafkaSecret" name), and for the jobs of a source with "source" and "sourceSecret". */}}
{{- define "sparkfuse.env" -}}
- {name: HOME, value: /tmp}
- {name: SPARKFUSE_HOME, value: /tmp/sparkfuse}
{{- if .kafkaSecret }}
- {name: SPARKFUSE_KAFKA_CONFIG, value: /etc/sparkfuse/kafka/client.properties}
{{- end }}
{{- if .source }}
- {name: SPARKFUSE_SOURCES, value: {{ .source }}=/etc/sparkfuse/source/client.properties}
- {name: SPARKFUSE_SOURCE, value: {{ .source }}}
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
{{- if .source }}
- {name: source, mountPath: /etc/sparkfuse/source, readOnly: true}
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
{{- if .source }}
- name: source
  secret: {secretName: {{ required "each source needs kafkaSecret" .sourceSecret }}, defaultMode: 288}
{{- end }}
{{- if .root.Values.config }}
- name: config
  configMap: {name: {{ .root.Release.Name }}-config}
{{- end }}
{{- end }}
