import Lifecycle
import Members
import Testing

/// The check that finds two processes with copies of one data directory. Each process reads the records of all processes
/// and looks for one with its own name but another instance. Exactly one of the two ends.
@Suite struct IdentityCheckTests {
    private func facts(of process: String, instance: String, since startedAt: Int64) -> ProcessFacts {
        ProcessFacts(
            process: process, host: "host-\(instance)", instance: instance, version: "1", stages: [],
            settings: [], startedAt: startedAt)
    }

    @Test func `the process that started later ends, and names the other`() {
        let (first, second) = (
            facts(of: "p", instance: "a", since: 1), facts(of: "p", instance: "b", since: 2)
        )
        var firstCheck = IdentityCheck(of: first)
        var secondCheck = IdentityCheck(of: second)
        // Each process reads the records of both. A record of another run counts only behind the process's own record.
        let firstErrors = [first, second, first, second].map { firstCheck.check($0) }
        let secondErrors = [first, second, first].map { secondCheck.check($0) }
        #expect(firstErrors.allSatisfy { $0 == nil })
        #expect(secondErrors[0] == nil && secondErrors[1] == nil)
        let error = secondErrors[2]
        #expect(error?.description.contains("host-a") == true)
        #expect(error?.exitStatus == .configuration)
    }

    @Test func `a record of an earlier run does not count as a second process`() {
        let (earlierRun, currentRun) = (
            facts(of: "p", instance: "a", since: 1), facts(of: "p", instance: "b", since: 2)
        )
        var check = IdentityCheck(of: currentRun)
        let errors = [earlierRun, currentRun, currentRun].map { check.check($0) }
        #expect(errors.allSatisfy { $0 == nil })
    }

    @Test func `processes with other identities are ignored`() {
        var check = IdentityCheck(of: facts(of: "p", instance: "b", since: 2))
        let errors = [facts(of: "p", instance: "b", since: 2), facts(of: "q", instance: "a", since: 1)].map {
            check.check($0)
        }
        #expect(errors.allSatisfy { $0 == nil })
    }

    @Test func `of two processes that started in the same millisecond, one ends`() {
        let (first, second) = (
            facts(of: "p", instance: "a", since: 1), facts(of: "p", instance: "b", since: 1)
        )
        var (firstCheck, secondCheck) = (IdentityCheck(of: first), IdentityCheck(of: second))
        for record in [first, second, first, second] {
            _ = firstCheck.check(record)
            _ = secondCheck.check(record)
        }
        let (firstError, secondError) = (firstCheck.check(second), secondCheck.check(first))
        #expect((firstError == nil) != (secondError == nil))
    }
}
