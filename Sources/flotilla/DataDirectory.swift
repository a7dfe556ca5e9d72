internal import FoundationEssentials
internal import Lifecycle

/// Where a process keeps what is its own. Made when it is missing; nobody else may look into it,
/// because state files hold push tokens.
enum DataDirectory {
    static func make(_ path: String) throws -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Refusal(
                status: .cannotCreate,
                "cannot make the data directory \(path); name another place with --data")
        }
        return path
    }

    /// Where nobody named a place: the user's state directory.
    static func ofUser() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map { $0 + "/.local/state" }
        guard let state else {
            throw Refusal(
                status: .usage, "there is no home directory to keep the data in; name a place with --data")
        }
        return state + "/flotilla"
    }
}
