/// Why a file on disk was not used again. One sentence each, for the log line that says so.
package enum DiscardReason: Sendable, Equatable {
    /// There are data and nothing that vouches for them.
    case unmarked
    case unreadableMark
    /// There is a mark, and the data it speaks of are gone.
    case missingData
    case otherSchema(found: Int, wanted: Int)
    case otherOrigin(found: String, wanted: String)
    /// Deletions may have been compacted away in the topic since.
    case tooOld(ageMilliseconds: Int64, limitMilliseconds: Int64)
    case machineWentDown
    case diedTwiceBeforeCommit
    case damaged(String)
    case condemned(String)
}

extension DiscardReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unmarked: "no mark says in which condition the data are"
        case .unreadableMark: "the mark beside the data cannot be read"
        case .missingData: "the data are gone, only their mark is left"
        case .otherSchema(let found, let wanted):
            "the data are of schema \(found), this program needs \(wanted)"
        case .otherOrigin(let found, let wanted): "the data come from \(found), not from \(wanted)"
        case .tooOld(let age, let limit):
            "the data are \(age / 1000) s old, and deletions older than \(limit / 1000) s may be gone from the topic"
        case .machineWentDown: "the machine went down while the data were being written"
        case .diedTwiceBeforeCommit: "two processes in a row died on the data before their first commit"
        case .damaged(let what): "the data are damaged: \(what)"
        case .condemned(let why): "the last process found the data unusable: \(why)"
        }
    }
}

/// How a state file began this time.
package enum Beginning: Sendable, Equatable {
    /// There was nothing; build everything.
    case empty
    /// The tables are as they were left; go on at the applied offsets.
    case resumed
    /// There was something, and it is deleted; build everything, and tell why.
    case discarded(DiscardReason)
}
