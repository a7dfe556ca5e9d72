internal import Settings
internal import Telemetry

extension LogLevel: SettingValue {}
extension LogFormat: SettingValue {}

/// Every setting that the binary knows. One file can therefore serve all stages, and one check finds
/// a mistyped key in any of them.
enum AllSettings {
    static let logLevel = Setting("log.level", default: LogLevel.info, "what is logged: this level and above")
    static let logFormat = Setting(
        "log.format", default: LogFormat.json, "one JSON object a line, or text for people")
    static let drainLimit = Setting(
        "lifecycle.drain-limit", default: Milliseconds(15_000), in: Milliseconds(100)...Milliseconds(600_000),
        "how long SIGTERM waits for what is in flight before the process exits as if killed")

    static let schema = Schema(
        [logLevel.declaration, logFormat.declaration, drainLimit.declaration] + admin + kafka + topics
            + tokens + run + gateway + ingest + up + broker + simulator)
}
