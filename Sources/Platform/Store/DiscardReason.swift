/// The reason that a state file on disk was not reused. Each reason has one sentence for the log. A mark is
/// the small file beside the data that describes it (`StateFileMark`).
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
    /// The last process that had the file open found it unusable, for this reason.
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
        case .damaged(let damage): "the data are damaged: \(damage)"
        case .markedUnusable(let reason): "the last process found the data unusable: \(reason)"
        }
    }
}
