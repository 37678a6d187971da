{{/* Labels of all objects, which also select the pods. */}}
{{- define "tmc.labels" -}}
app.kubernetes.io/name: {{ .Values.name }}
app.kubernetes.io/part-of: tmc
{{- end }}

{{- define "tmc.metadata" -}}
name: {{ .Values.name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "tmc.labels" . | nindent 2 }}
{{- end }}

{{- define "tmc.image" -}}
{{- $repository := required "image.repository is required: the controller's image, such as example.com/tmc-controller" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The arguments that select the upstream. */}}
{{- define "tmc.upstreamArgs" -}}
{{- with .Values.upstream }}
{{- if eq .hub "kubernetes" }}
{{- if or .apiExport .workspaces }}{{ fail "upstream.hub kubernetes excludes upstream.apiExport and upstream.workspaces" }}{{ end }}
- --hub=kubernetes
{{- else if .apiExport }}
{{- if .workspaces }}{{ fail "upstream.apiExport and upstream.workspaces exclude each other" }}{{ end }}
- --api-export={{ .apiExport }}
{{- else }}
{{- range required "upstream.apiExport or upstream.workspaces is required" (.workspaces | default nil) }}
- --workspace={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
