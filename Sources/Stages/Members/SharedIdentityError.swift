package import Lifecycle

/// The error of a process whose data directory was copied to another process that runs too.
package struct SharedIdentityError: FatalError, Equatable {
    package let exitStatus = ExitStatus.configuration
    package let description: String

    init(with other: ProcessFacts) {
        description =
            "another process uses the identity \(other.process): it runs on \(other.host) since \(other.startedAt) (milliseconds since 1970), and it was the first; give each process a data directory of its own"
    }
}

/// The search for a second process with this process's identity, in the records of `members`.
///
/// Two processes with one identity fence each other for ever. The process that started later ends. A process takes its
/// identity by a lock on its data directory, so a record of an earlier run cannot follow this run's own record.
package struct IdentityCheck {
    private let own: ProcessFacts
    private var hasSeenOwn = false

    package init(of own: ProcessFacts) { self.own = own }

    /// Takes the next record of the topic. Returns an error if this process has to end.
    package mutating func check(_ facts: ProcessFacts) -> SharedIdentityError? {
        guard facts.process == own.process else { return nil }
        if facts.instance == own.instance {
            hasSeenOwn = true
            return nil
        }
        let isFirst = (facts.startedAt, facts.instance) < (own.startedAt, own.instance)
        return hasSeenOwn && isFirst ? SharedIdentityError(with: facts) : nil
    }
}
