internal import Settings
internal import Telemetry

extension LogLevel: SettingValue {}
extension LogFormat: SettingValue {}

/// What every long-running command can be told.
struct ProcessSettings: OperatorSettings {
    var logLevel = LogLevel.info
    var logFormat = LogFormat.json
    var drainMilliseconds = 15_000
    var adminListen = HostPort(host: "127.0.0.1", port: 9464)

    static let declared = SettingsGroup(defaults: ProcessSettings()) { declare in
        declare("log.level", sets: \.logLevel, "what is logged: this level and above")
        declare("log.format", sets: \.logFormat, "one JSON object a line, or text for people")
        declare(
            "lifecycle.drain-limit", sets: \.drainMilliseconds, as: Milliseconds.self, in: 100...600_000,
            "how long SIGTERM waits for what is in flight before the process exits as if killed")
        declare(
            "admin.listen", sets: \.adminListen,
            "where /metrics, /livez and /readyz are served; port 0 lets the system choose")
    }
}
