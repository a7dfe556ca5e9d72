internal import Settings

/// The options of a stage in a separate process. An option of another stage has no effect.
struct StageWorkerOptions {
    var brokers: [String] = []
    var prefix = "flotilla."
    var lanes = 12
    /// The directory of the stage's state files.
    var data = ""
    var sweepMilliseconds: Int?
    var jobsPerSheet: Int?
    var sessionMilliseconds: Int?
    /// Ingest: the most reports in one transaction.
    var batchRecords: Int?

    // The sender: its provider keys, the addresses and the CA of APNs, and its limits.
    var keys = ""
    var apns: HostPort?
    var apnsSandbox: HostPort?
    var authorities = ""
    var permits: Int?
    var answerMilliseconds: Int?
    var settleMilliseconds: Int?

    // Webhooks: the file of the sealing keys, and the record of the endpoint in JSON.
    var sealingKeysFile: String?
    var webhook: String?

    // The kill, if there is one: at the `occurrence`th time of a step, counted after `afterStep` was reached.
    var killAtStep: Int?
    var occurrence = 1
    var afterStep: Int?
    var stopsInsteadOfKilling = false

    init(parsing arguments: [String]) throws {
        var reader = OptionReader(arguments)
        while let name = reader.nextArgument(), let value = reader.nextArgument() {
            switch name {
            case "--brokers": brokers = value.split(separator: ",").map(String.init)
            case "--prefix": prefix = value
            case "--lanes": lanes = Int(value) ?? lanes
            case "--data": data = value
            case "--sweep-milliseconds": sweepMilliseconds = Int(value)
            case "--per-sheet": jobsPerSheet = Int(value)
            case "--keys": keys = value
            case "--apns": apns = HostPort(settingText: value)
            case "--apns-sandbox": apnsSandbox = HostPort(settingText: value)
            case "--authorities": authorities = value
            case "--permits": permits = Int(value)
            case "--answer-milliseconds": answerMilliseconds = Int(value)
            case "--settle-milliseconds": settleMilliseconds = Int(value)
            case "--sealing-keys": sealingKeysFile = value
            case "--webhook": webhook = value
            case "--die-at-step": killAtStep = Int(value)
            case "--at-time": occurrence = Int(value) ?? 1
            case "--after-step": afterStep = Int(value)
            case "--stop-there": stopsInsteadOfKilling = value == "1"
            case "--session-milliseconds": sessionMilliseconds = Int(value)
            case "--batch-records": batchRecords = Int(value)
            default: throw BenchmarkFailure("\(name) is not known")
            }
        }
        guard !brokers.isEmpty, !data.isEmpty else { throw BenchmarkFailure("name --brokers and --data") }
    }
}
