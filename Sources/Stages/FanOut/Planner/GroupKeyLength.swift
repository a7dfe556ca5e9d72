internal import Identifiers
internal import Sends
internal import Store

/// The check that the keys of a send's rows fit into the planner's view. Usual names always fit. Only names
/// with many slashes and percent signs, which are escaped, can be too long together.
enum GroupKeyLength {
    /// The most bytes that one byte of a name takes in a key.
    private static let escapedBytes = 3

    /// Returns the problem with the named users. Nil if all their rows can be stored.
    static func problem(of send: Send) -> String? {
        guard let key = send.scopeKey, key.recipient == nil, case .users(let users) = send.audience else {
            return nil
        }
        let bytes = key.narrowed(to: .user("")).bytes.count
        for user in users where bytes + escapedBytes * user.utf8.count > EnvironmentLimits.keyBytesMax {
            let own = key.narrowed(to: .user(user)).bytes.count
            if own > EnvironmentLimits.keyBytesMax {
                return
                    "users: group and user make a key of \(own) bytes, and the limit is \(EnvironmentLimits.keyBytesMax); give shorter names"
            }
        }
        return nil
    }
}
