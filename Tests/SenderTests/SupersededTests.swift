import Identifiers
import Jobs
import Payloads
import Sends
import Testing

@testable import Sender

/// Tests of the sheets that a sender drops, because a note of the fan-out has announced a newer version of the group or
/// a cancelled send.
@Suite struct SupersededTests {
    /// Returns the versions that a sender knows after a note about the group.
    private func versions(update: Int64, end: Int64, cancelled: [String] = []) -> NewestGroupVersions {
        var versions = NewestGroupVersions(seed: 1)
        _ = versions.merge(
            SupersededVersions(
                app: "shop", group: "g", updateVersion: update, endVersion: end, cancelledSends: cancelled))
        return versions
    }

    /// Returns the head of a sheet. Its version is 5 unless the test names another.
    private func head(of event: PushEvent, scope: ScopeKind = .group, version: Int64 = 5) -> SheetHead {
        SheetHead(
            topic: "t", priority: .immediate, expiration: 0, app: "shop", environment: .production, send: "s",
            group: "g", scope: scope, generation: 0, version: version, event: event, deadline: 10,
            acceptedAt: 0)
    }

    private func staleness(of head: SheetHead, by versions: NewestGroupVersions) -> Staleness? {
        versions.staleness(of: head, group: versions.fingerprint(app: "shop", group: "g"))
    }

    @Test func `a newer update to a group drops an update to the group`() {
        let newerUpdate = versions(update: 6, end: 0)
        #expect(staleness(of: head(of: .update), by: newerUpdate) == .newer)
        #expect(staleness(of: head(of: .update, version: 6), by: newerUpdate) == nil, "it is the newest")
        #expect(staleness(of: head(of: .update, scope: .recipient), by: newerUpdate) == nil)
    }

    @Test func `a newer END drops a start, and a newer update does not`() {
        #expect(staleness(of: head(of: .start), by: versions(update: 0, end: 6)) == .ended)
        #expect(staleness(of: head(of: .start), by: versions(update: 6, end: 0)) == nil)
    }

    @Test func `no newer version drops an END`() {
        #expect(staleness(of: head(of: .end), by: versions(update: 9, end: 9)) == nil)
    }

    @Test func `a cancelled send is dropped`() {
        let cancelled = versions(update: 0, end: 0, cancelled: ["s"])
        #expect(staleness(of: head(of: .start), by: cancelled) == .cancelled)
    }

    @Test func `a newer update does not drop an update without conflation`() {
        var unconflatable = head(of: .update)
        unconflatable.isConflatable = false
        #expect(staleness(of: unconflatable, by: versions(update: 6, end: 0)) == nil)
    }
}
