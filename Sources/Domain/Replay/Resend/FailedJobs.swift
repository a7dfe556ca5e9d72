internal import APNs
internal import Jobs
internal import Kafka

/// The failed jobs of one send in one lane, from the lane's receipts. Only the first final outcome of a job
/// counts.
struct FailedJobs {
    /// The lines of one sheet.
    private struct Sheet {
        /// The lines whose first final outcome is known.
        var finalLines: Set<Int> = []
        /// The lines that APNs rejected for a reason other than their token.
        var failed: Set<Int> = []
        /// The lines of starts that may have arrived.
        var unknown: Set<Int> = []
    }

    /// The HTTP status of APNs for a token that no device uses any more.
    private static let goneStatus = 410

    private let filter: SendReceiptFilter
    private var sheets: [JobPosition: Sheet] = [:]
    /// The jobs whose token is dead. Another push cannot succeed.
    private(set) var deadTokens = 0

    init(of send: String, app: String) { filter = SendReceiptFilter(send: send, app: app) }

    /// The positions of the sheets with failed or unknown jobs, in order.
    var positions: [JobPosition] {
        sheets.filter { !$0.value.failed.isEmpty || !$0.value.unknown.isEmpty }.keys.sorted {
            ($0.topic, $0.partition, $0.offset) < ($1.topic, $1.partition, $1.offset)
        }
    }

    func hasFailed(_ line: Int, at position: JobPosition) -> Bool {
        sheets[position]?.failed.contains(line) == true
    }

    /// Whether the outcome of a start is unknown.
    func isUnknown(_ line: Int, at position: JobPosition) -> Bool {
        sheets[position]?.unknown.contains(line) == true
    }

    /// Applies the next record of `receipts`. Records of other sends are skipped.
    mutating func apply(_ record: borrowing Kafka.Record) {
        guard let receipt = filter.receipt(in: record) else { return }
        for part in receipt.parts where part.outcome.isFinal { apply(part, at: receipt.position) }
    }

    private mutating func apply(_ part: Receipt.Part, at position: JobPosition) {
        let isTokenDead =
            part.status == Self.goneStatus
            || part.reason.flatMap(APNsReason.init(text:))?.concernsToken == true
        part.lines.forEachLine { line in
            guard sheets[position, default: Sheet()].finalLines.insert(line).inserted else { return }
            switch part.outcome {
            case .rejected where isTokenDead: deadTokens += 1
            case .rejected: sheets[position]?.failed.insert(line)
            case .unknown: sheets[position]?.unknown.insert(line)
            case .accepted, .superseded, .expired, .moved, .intent, .released: break
            }
        }
    }
}

extension APNsReason {
    fileprivate var concernsToken: Bool {
        switch disposition {
        case .tokenGone, .tokenSuspect: true
        default: false
        }
    }
}
