internal import FoundationEssentials
internal import Lifecycle

/// The directory for the files of a process.
enum DataDirectory {
    /// Creates the directory if it is missing, and returns its path. Only its owner can read it, because
    /// state files hold push tokens.
    static func create(at path: String) throws -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(
                status: .cannotCreate,
                "cannot create the data directory \(path); name another one with --data")
        }
        return path
    }

    /// Returns the default if no directory is configured: `flotilla` in the user's state directory.
    static func defaultPath() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"] ?? environment["HOME"].map { $0 + "/.local/state" }
        guard let state else {
            throw CommandError(
                status: .usage, "there is no home directory for the data; name a directory with --data")
        }
        return state + "/flotilla"
    }
}
