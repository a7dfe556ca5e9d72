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
        func address(of name: String) throws -> HostPort {
            guard let address = HostPort(settingText: try reader.text(of: name)) else {
                throw BenchmarkFailure("\(name) needs HOST:PORT")
            }
            return address
        }
        while let name = reader.nextName() {
            switch name {
            case "--brokers": brokers = try reader.text(of: name).split(separator: ",").map(String.init)
            case "--prefix": prefix = try reader.text(of: name)
            case "--lanes": lanes = try reader.numberAboveZero(of: name)
            case "--data": data = try reader.text(of: name)
            case "--sweep-milliseconds": sweepMilliseconds = try reader.numberAboveZero(of: name)
            case "--per-sheet": jobsPerSheet = try reader.numberAboveZero(of: name)
            case "--keys": keys = try reader.text(of: name)
            case "--apns": apns = try address(of: name)
            case "--apns-sandbox": apnsSandbox = try address(of: name)
            case "--authorities": authorities = try reader.text(of: name)
            case "--permits": permits = try reader.numberAboveZero(of: name)
            case "--answer-milliseconds": answerMilliseconds = try reader.numberAboveZero(of: name)
            case "--settle-milliseconds": settleMilliseconds = try reader.number(of: name)
            case "--sealing-keys": sealingKeysFile = try reader.text(of: name)
            case "--webhook": webhook = try reader.text(of: name)
            case "--die-at-step": killAtStep = try reader.number(of: name)
            case "--at-time": occurrence = try reader.numberAboveZero(of: name)
            case "--after-step": afterStep = try reader.number(of: name)
            case "--stop-there": stopsInsteadOfKilling = try reader.number(of: name) == 1
            case "--session-milliseconds": sessionMilliseconds = try reader.numberAboveZero(of: name)
            case "--batch-records": batchRecords = try reader.numberAboveZero(of: name)
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        guard !brokers.isEmpty, !data.isEmpty else { throw BenchmarkFailure("name --brokers and --data") }
    }
}
