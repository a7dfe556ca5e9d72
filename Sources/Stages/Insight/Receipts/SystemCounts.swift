internal import Identifiers
internal import JSON
internal import Jobs

/// Counts of jobs by the major version of the phones' iOS.
package struct SystemCounts: Sendable, Hashable {
    /// The limit of systems that are counted separately, because phones may report any number. Further ones
    /// count as unreported.
    private static let systemsMax = 32

    package struct SystemCount: Sendable, Hashable {
        package let system: UInt8
        package fileprivate(set) var count: Int
    }

    /// The counts in the order of the systems. There are few, and each line of a receipt needs a lookup. A
    /// dictionary takes ten times as long.
    package private(set) var counts: [SystemCount] = []

    package init() {}

    /// The number of jobs on all systems.
    package var total: Int { counts.reduce(0) { $0 + $1.count } }

    package func count(on system: UInt8) -> Int { counts.first { $0.system == system }?.count ?? 0 }

    package mutating func add(_ times: Int, on system: UInt8) {
        guard times > 0 else { return }
        let index = counts.firstIndex { $0.system >= system } ?? counts.count
        if index < counts.count, counts[index].system == system {
            counts[index].count += times
        } else if counts.count < Self.systemsMax || system == OSVersion.unreportedMajor {
            counts.insert(SystemCount(system: system, count: times), at: index)
        } else {
            add(times, on: OSVersion.unreportedMajor)
        }
    }

    package mutating func merge(_ other: SystemCounts) {
        for entry in other.counts { add(entry.count, on: entry.system) }
    }

    /// Returns the name of a system. An unreported system is `unknown`.
    static func name(of system: UInt8) -> String {
        system == OSVersion.unreportedMajor ? "unknown" : String(system)
    }
}

extension SystemCounts {
    /// Writes pairs of system and count.
    func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for entry in counts {
            writer.value(Int(entry.system))
            writer.value(entry.count)
        }
        writer.endArray()
    }

    init(from value: JSONValue) {
        var elements = value.array(countMax: 2 * (Self.systemsMax + 1))
        while let system = elements.next(), let count = elements.next() {
            add(count.jobCount(), on: UInt8(clamping: system.int(in: 0...255)))
        }
    }
}
