internal import Settings
internal import Telemetry

extension LogLevel: SettingValue {}
extension LogFormat: SettingValue {}

/// The settings of every long-running command: log, drain limit and admin server.
struct ProcessSettings: OperatorSettings {
    var logLevel = LogLevel.info
    var logFormat = LogFormat.json
    var drainMilliseconds = 15_000
    var adminListen = HostPort(host: "127.0.0.1", port: 9464)

    static let declared = SettingsGroup(defaults: ProcessSettings()) { declare in
        declare("log.level", sets: \.logLevel, "the lowest level that is logged")
        declare("log.format", sets: \.logFormat, "json prints one JSON object per line, text is for people")
        declare(
            "lifecycle.drain-limit", sets: \.drainMilliseconds, as: Milliseconds.self, in: 100...600_000,
            "after SIGTERM, work in flight gets this long before the process exits as if killed")
        declare(
            "admin.listen", sets: \.adminListen,
            "address of /metrics, /livez and /readyz; port 0 lets the system choose")
    }
}
