internal import Identifiers
package import JSON
internal import RecordFormat

/// The present content of the topic `members`: the members of each stage with their lanes, and the facts of
/// each process.
package struct MemberTable: Sendable, Hashable {
    // By the keys of their records.
    private var members: [[UInt8]: Member] = [:]
    private var facts: [[UInt8]: ProcessFacts] = [:]

    package init() {}

    /// Applies a record. An unreadable record comes from a newer program and is ignored.
    ///
    /// - Parameter value: Nil if the process has deleted its record.
    package mutating func apply(key: [UInt8], value: [UInt8]?, with reader: JSONReader) {
        if RecordKey.split(key)?.first == ProcessFacts.keyPrefix {
            facts[key] = value.flatMap { try? ProcessFacts.decode($0, with: reader) }
        } else {
            members[key] = value.flatMap { try? Member.decode($0, with: reader) }
        }
    }

    /// The facts that processes of all stages report about themselves, sorted by name.
    package var processes: [ProcessFacts] { facts.values.sorted { $0.process < $1.process } }

    /// Returns all members of a stage, sorted by name.
    package func members(of stage: String) -> [Member] {
        members.values.filter { $0.stage == stage }.sorted { $0.process < $1.process }
    }

    /// Returns each lane's owner. If several members name a lane, the newest record wins, because a process
    /// that died could not delete its record.
    package func owners(of stage: String) -> [Int: Member] {
        var owners: [Int: Member] = [:]
        for member in members(of: stage) {
            for lane in member.lanes where owners[lane].map({ $0.at < member.at }) ?? true {
                owners[lane] = member
            }
        }
        return owners
    }
}
