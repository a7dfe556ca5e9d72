internal import CLinux
internal import Foundation

/// A pipe whose ends other children do not inherit.
struct PipeEnds {
    let reading: Int32
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe linux_pipe(&ends) == 0 else { throw SpawnError(what: "make a pipe", code: errno) }
        reading = ends[0]
        writing = ends[1]
    }

    func closeReading() { close(reading) }
    func closeWriting() { close(writing) }
}

struct SpawnError: Error, CustomStringConvertible {
    let what: String
    let code: Int32
    var description: String { unsafe "cannot \(what): \(String(cString: strerror(code)))" }
}
