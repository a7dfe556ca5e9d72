/// The exit status of a process, with the numbers of `sysexits.h`. So a supervisor can tell failures that a
/// restart repairs from others.
package enum ExitStatus: Int32, Sendable {
    case success = 0
    /// Ended by a second signal, or because the services did not stop in time.
    case killed = 1
    /// The command line is wrong.
    case usage = 64
    /// The input is wrong: a file, a key or a record.
    case dataError = 65
    /// An input file is missing or unreadable.
    case noInput = 66
    /// A required service or resource is missing: a broker, a port.
    case unavailable = 69
    /// A bug in this program.
    case software = 70
    /// The operating system refused a resource: a thread, memory or a descriptor.
    case systemError = 71
    /// An output file or directory cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed partway.
    case ioError = 74
    /// Try again later: another process holds the lock.
    case temporary = 75
    /// Missing permissions or credentials.
    case noPermission = 77
    /// The settings are wrong, or another process runs with a copy of this data directory.
    case configuration = 78
}

/// An error that determines the exit status of the process.
package protocol FatalError: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }
}
