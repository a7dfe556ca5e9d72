/// How a process ends, by the convention of `sysexits.h`, so that a supervisor can tell what a
/// restart can heal from what it cannot.
package enum ExitStatus: Int32, Sendable {
    case success = 0
    /// Killed by a second signal or by its own drain limit.
    case killed = 1
    /// The command line is wrong.
    case usage = 64
    /// What was read is wrong: a file, a key, a record.
    case dataError = 65
    /// An input file is missing or unreadable.
    case noInput = 66
    /// Something that is needed is not there: a broker, a port.
    case unavailable = 69
    /// A mistake of ours.
    case software = 70
    /// The operating system refused: no thread, no memory, no descriptor.
    case systemError = 71
    /// An output file or directory cannot be made.
    case cannotCreate = 73
    /// Reading or writing failed half-way.
    case ioError = 74
    /// Try again later: the lock is held by another process.
    case temporary = 75
    /// Not allowed: rights, credentials.
    case noPermission = 77
    /// The settings are wrong, or this process was fenced by another with its identity.
    case configuration = 78
}

/// An error that knows how the process should end because of it.
package protocol Fatal: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }
}
