package import JSON
internal import LiveActivity

/// Who answers for which lanes, as `members` says.
package struct MemberTable: Sendable, Hashable {
    private var members: [[UInt8]: Member] = [:]
    private var facts: [[UInt8]: ProcessFacts] = [:]

    package init() {}

    /// A record that cannot be read is one of a newer program, and no member to this one.
    ///
    /// - Parameter value: nil when the member has ended.
    package mutating func apply(_ key: [UInt8], _ value: [UInt8]?, with reader: JSONReader) {
        if RecordKey.split(key)?.first == ProcessFacts.word {
            facts[key] = value.flatMap { try? ProcessFacts.decode($0, with: reader) }
        } else {
            members[key] = value.flatMap { try? Member.decode($0, with: reader) }
        }
    }

    /// What processes of any stages say of themselves, in the order of their names.
    package var processes: [ProcessFacts] { facts.values.sorted { $0.process < $1.process } }

    /// All of a stage, in the order of their names.
    package func members(of stage: String) -> [Member] {
        members.values.filter { $0.stage == stage }.sorted { $0.process < $1.process }
    }

    /// Each lane's owner: of several that name it, whoever said so last; a process that died could not take its
    /// word back.
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
