import Lifecycle
import Members
import Testing

/// Two processes with copies of one data directory: exactly one of them ends.
@Suite struct IdentityCheckTests {
    private func facts(_ process: String, _ instance: String, since startedAt: Int64) -> ProcessFacts {
        ProcessFacts(
            process: process, host: "host-\(instance)", instance: instance, version: "1", stages: [],
            settings: [], startedAt: startedAt)
    }

    @Test func `the process that started later ends, and names the other`() {
        let (first, second) = (facts("p", "a", since: 1), facts("p", "b", since: 2))
        var ofFirst = IdentityCheck(of: first)
        var ofSecond = IdentityCheck(of: second)
        // Each writes beside the other.
        let endsFirst = [first, second, first, second].map { ofFirst.check($0) }
        let endsSecond = [first, second, first].map { ofSecond.check($0) }
        #expect(endsFirst.allSatisfy { $0 == nil })
        #expect(endsSecond[0] == nil && endsSecond[1] == nil)
        let error = endsSecond[2]
        #expect(error?.description.contains("host-a") == true)
        #expect(error?.exitStatus == .configuration)
    }

    @Test func `a record of an earlier run of the same process is no second process`() {
        let (before, now) = (facts("p", "a", since: 1), facts("p", "b", since: 2))
        var check = IdentityCheck(of: now)
        let ends = [before, now, now].map { check.check($0) }
        #expect(ends.allSatisfy { $0 == nil })
    }

    @Test func `processes with other identities mean nothing`() {
        var check = IdentityCheck(of: facts("p", "b", since: 2))
        let ends = [facts("p", "b", since: 2), facts("q", "a", since: 1)].map { check.check($0) }
        #expect(ends.allSatisfy { $0 == nil })
    }

    @Test func `of two processes that started in the same millisecond, one ends`() {
        let (a, b) = (facts("p", "a", since: 1), facts("p", "b", since: 1))
        var (ofA, ofB) = (IdentityCheck(of: a), IdentityCheck(of: b))
        for record in [a, b, a, b] {
            _ = ofA.check(record)
            _ = ofB.check(record)
        }
        let (endOfA, endOfB) = (ofA.check(b), ofB.check(a))
        #expect((endOfA == nil) != (endOfB == nil))
    }
}
