internal import LiveActivity
internal import Store

/// The keys of a send's rows must fit into the planner's view. Names of the usual kind always do; only those
/// of many slashes and percent signs, which are escaped, can be too long together.
enum GroupKeyLength {
    /// Bytes that one byte of a name may take in a key.
    private static let escapedBytes = 3

    /// What is wrong with whom the send names; nil when all their rows can be kept.
    static func problem(of send: Send) -> String? {
        guard let key = send.groupKey, key.recipient == nil, case .users(let users) = send.audience else {
            return nil
        }
        let bytes = key.of(.user("")).bytes.count
        for user in users where bytes + escapedBytes * user.utf8.count > Limits.keyBytesMax {
            let own = key.of(.user(user)).bytes.count
            if own > Limits.keyBytesMax {
                return
                    "users: group and user make a key of \(own) bytes, at most \(Limits.keyBytesMax) are possible; give shorter names"
            }
        }
        return nil
    }
}
