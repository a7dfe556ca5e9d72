/// The reason that a file on disk was not reused. Each reason has one sentence for the log.
package enum DiscardReason: Sendable, Equatable {
    /// There is data without a mark.
    case unmarked
    case unreadableMark
    /// There is a mark, but its data is gone.
    case missingData
    case otherSchema(found: Int, wanted: Int)
    case otherOrigin(found: String, wanted: String)
    /// The topic may have compacted deletions away since.
    case tooOld(ageMilliseconds: Int64, limitMilliseconds: Int64)
    case machineWentDown
    case crashedTwiceBeforeCommit
    case damaged(String)
    case markedUnusable(String)
}

extension DiscardReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unmarked: "the data have no mark"
        case .unreadableMark: "the mark beside the data cannot be read"
        case .missingData: "the data file is missing, only its mark is left"
        case .otherSchema(let found, let wanted):
            "the data are of schema \(found), this program needs \(wanted)"
        case .otherOrigin(let found, let wanted): "the data come from \(found), not from \(wanted)"
        case .tooOld(let age, let limit):
            "the data are \(age / 1000) s old, and deletions older than \(limit / 1000) s may be gone from the topic"
        case .machineWentDown: "the machine went down while the data were being written"
        case .crashedTwiceBeforeCommit: "two processes in a row died on the data before their first commit"
        case .damaged(let what): "the data are damaged: \(what)"
        case .markedUnusable(let why): "the last process found the data unusable: \(why)"
        }
    }
}

/// The state in which a state file was opened.
package enum OpeningState: Sendable, Equatable {
    /// There was no file. Build everything.
    case empty
    /// The tables are intact. Continue at the applied offsets.
    case resumed
    /// There was an unusable file, and it is deleted. Build everything and report the reason.
    case discarded(DiscardReason)
}
