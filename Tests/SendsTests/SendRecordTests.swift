import Identifiers
import JSON
import Payloads
import RecordFormat
import RecordTesting
import Sends
import Testing

// The records beside sends: rows of groups, expansions, progress, and requests.

private var reader: JSONReader { JSONReader() }

/// Returns a state of a group with this version.
private func state(_ version: Int64) -> ScopeState {
    var content = PushContent(.update)
    content.contentState = raw(#"{"goals": 1.0}"#)
    return ScopeState(
        send: "s1", version: version, content: content, priority: .powerSaving, deadline: 1_763_610_000,
        expiration: 0,
        acceptedAt: 1_763_600_000_123)
}

@Test func `the keys of group rows are distinct and name their group and recipient`() {
    let keys = [
        ScopeKey(app: "shop", group: "m/1"), ScopeKey(app: "shop", group: "m/1", recipient: .user("b/n")),
        ScopeKey(app: "shop", group: "m/1", recipient: .installation("b/n")),
        ScopeKey(app: "shop", activity: "m/1"),
    ]
    let texts = keys.map { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(texts == ["shop/m%2f1", "shop/m%2f1/u:b%2fn", "shop/m%2f1/i:b%2fn", "shop//m%2f1"])
    for key in keys {
        let read = key.bytes.withUnsafeBytes { ScopeKey(bytes: $0) }
        #expect(read == key)
        #expect(!key.bytes.withUnsafeBytes { SendIdempotencyRow.isKey($0) })
    }
    let idempotencyKey = SendIdempotencyRow.key(app: "shop", send: "s1")
    #expect(String(decoding: idempotencyKey, as: UTF8.self) == "/shop/s1")
    #expect(idempotencyKey.withUnsafeBytes { SendIdempotencyRow.isKey($0) })
    for text in ["/shop/s1", "shop", "shop/", "shop/m/x:1", "shop/m/u:1/more", "", "a b/m", "shop/%2"] {
        #expect(Array(text.utf8).withUnsafeBytes { ScopeKey(bytes: $0) } == nil, "\(text)")
    }
}

@Test func `a row of groups with all its fields reads back`() throws {
    #expect(try GroupRow.decode(GroupRow().encoded(), with: reader) == GroupRow())
    var row = GroupRow()
    row.generation = 1
    row.endVersion = 2
    row.endStamp = 3
    row.version = 4
    row.timestamp = 14
    row.highestTimestamp = 15
    row.laneOnlyVersion = 5
    row.highestVersion = 6
    row.newestState = state(7)
    row.replacedStates = [state(6), state(5), state(4)]
    row.replacedStates[1].originalSend = "s0"
    row.attributesType = "Match"
    row.attributesBytes = 8
    row.updateCount = 9
    row.endDate = 10
    row.heldSend = makeHeldSend()
    row.groupSendCount = 11
    row.groupSendCountWhenHeld = 10
    row.updateVersion = 5
    row.cancelledSends = [GroupRow.CancelledSend(send: "s0", at: 3)]
    row.lastSendAt = 12
    row.memberLanes = .only(LaneSet([3]))
    row.membersUntil = 13
    #expect(try GroupRow.decode(row.encoded(), with: reader) == row)
}

@Test func `a row about an idempotency key reads back`() throws {
    for row in [
        SendIdempotencyRow(fingerprint: "f", writtenAt: 1),
        SendIdempotencyRow(fingerprint: "f", writtenAt: 1, verdict: .newerState),
        SendIdempotencyRow(fingerprint: "f", writtenAt: 1, version: 7),
    ] {
        #expect(try SendIdempotencyRow.decode(row.encoded(), with: reader) == row)
    }
}

@Test func `a send with a condition, a request id and an address for the reply reads back`() throws {
    var send = makeHeldSend()
    #expect(!String(decoding: send.encoded(), as: UTF8.self).contains("replyTo"))
    (send.ifVersion, send.requestID) = (7, "req-1")
    send.replyTo = ReplyAddress(partition: 3, request: "q")
    #expect(try Send.decode(send.encoded(), with: reader) == send)
}

@Test func `a row with one replaced state has the form of programs that kept only one`() throws {
    var row = GroupRow()
    row.newestState = state(7)
    row.replacedStates = [state(6)]
    let text = String(decoding: row.encoded(), as: UTF8.self)
    #expect(!text.contains("earlier") && !text.contains("origin"))
    #expect(try GroupRow.decode(Array(text.utf8), with: reader) == row)
}

@Test func `a row with the largest possible states reads back`() throws {
    var largest = state(7)
    // Names this short give the most names for a size: each needs a quoted letter, a colon, a digit and a
    // comma.
    let letters = "abcdefghijklmnopqrst".map { "\"\($0)\":0" }.joined(separator: ",")
    // An object has two braces and a comma beside its letters.
    let objects = Array(
        repeating: "{\(letters)}", count: PayloadRules.dataBytesMax / (letters.utf8.count + 3))
    largest.content.contentState = raw("{\"l\":[\(objects.joined(separator: ","))]}")
    var row = GroupRow()
    row.newestState = largest
    row.replacedStates = Array(repeating: largest, count: GroupRow.replacedStatesMax)
    row.heldSend = makeHeldSend()
    row.heldSend?.content = largest.content
    row.cancelledSends = (0..<SupersededVersions.cancelledSendsMax).map {
        GroupRow.CancelledSend(send: "s\($0)", at: 3)
    }
    #expect(try GroupRow.decode(row.encoded(), with: reader) == row)
}

/// Returns an update that waits for its group.
private func makeHeldSend() -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: "s2", app: "shop", group: "m", audience: .users(["ben"]), content: content, priority: .immediate,
        acceptedAt: 1)
}

@Test func `an expansion and its continuation read back`() throws {
    var expansion = Expansion(
        send: "s1", key: ScopeKey(app: "shop", group: "m"), targets: .group, content: state(7).content,
        priority: .immediate, generation: 3, version: 7, timestamp: 8, deadline: 1_763_610_000, expiration: 0,
        acceptedAt: 1_763_600_000_000)
    for targets: Expansion.Targets in [
        .everyone, .group, .segments(["a"]), .tags(["b"]), .activities(["c"]),
        .recipients([
            .init(.user("ben"), scope: .recipient, generation: 1, version: 2, timestamp: 5),
            .init(.installation("i1"), scope: .group, generation: 3, version: 4),
        ]),
    ] {
        expansion.targets = targets
        #expect(try Expansion.decode(expansion.encoded(), with: reader) == expansion)
    }
    expansion.key = ScopeKey(app: "shop", activity: "a1")
    expansion.collapseID = "c"
    expansion.precedingUpdates = 5
    expansion.isConflatable = false
    expansion.unknownStartPolicy = .resend
    expansion.forcesRestart = true
    expansion.isDryRun = true
    expansion.sequence = 9
    expansion.isForOneRecipient = true
    expansion.targets = .newMembers
    expansion.cursor = [0, 255, 16]
    expansion.tally.targeted = 10
    expansion.tally.expanded = 7
    expansion.tally.dropped = 1
    expansion.tally.excludedByReason = ["expired": 1, "off": 1]
    expansion.tally.hasEndedEarly = true
    #expect(try Expansion.decode(expansion.encoded(), with: reader) == expansion)

    // A cursor with an odd number of hexadecimal digits.
    let text = String(decoding: expansion.encoded(), as: UTF8.self)
    let textWithOddCursor = text.replacing("00ff10", with: "00ff1")
    #expect(throws: RecordDecodingError.self) {
        try Expansion.decode(Array(textWithOddCursor.utf8), with: reader)
    }
}

@Test func `the progress of a send reads back`() throws {
    var verdict = ProgressRecord.PlannerPart(.planned, version: 7, generation: 3, laneCount: 12)
    verdict.findings = ["content-state has no goals"]
    verdict.endedRecipients = 2
    verdict.recipient = .user("ben")
    var tally = LaneTally()
    tally.targeted = 3
    for system in [OSVersion(18, 1), OSVersion(18, 2), nil] { tally.countJob(on: system) }
    #expect(tally.expanded == 3 && tally.jobsBySystem == [18: 2, 0: 1])
    for part: ProgressRecord.Part in [.planner(verdict), .lanes([4, 7], tally)] {
        let progress = ProgressRecord(
            send: "s1", key: ScopeKey(app: "shop", group: "m", recipient: .user("ben")), isDryRun: true,
            acceptedAt: 1, writtenAt: 2, part: part)
        #expect(try ProgressRecord.decode(progress.encoded(), with: reader) == progress)
    }
}

@Test func `the superseded versions of a group read back, and a private group has another key`() throws {
    let shared = SupersededVersions(
        app: "shop", group: "m", updateVersion: 7, endVersion: 0, cancelledSends: ["s1"])
    #expect(try SupersededVersions.decode(shared.encoded(), with: reader) == shared)
    let privateGroup = SupersededVersions(
        app: "shop", group: "m", owner: .user("ben"), updateVersion: 0, endVersion: 0)
    #expect(try SupersededVersions.decode(privateGroup.encoded(), with: reader) == privateGroup)
    #expect(privateGroup.key != shared.key)
}

@Test func `a progress record of version 1 for one lane can be read`() throws {
    let text =
        #"{"v":1,"send":"s1","app":"shop","group":"m","acceptedAt":1,"at":2,"lane":4,"targeted":3,"expanded":2}"#
    let progress = try ProgressRecord.decode(Array(text.utf8), with: reader)
    guard case .lanes([4], let tally) = progress.part else {
        Issue.record("\(progress.part)")
        return
    }
    #expect(tally.targeted == 3 && tally.expanded == 2)
}

@Test func `a tally stays readable for any reported system versions`() throws {
    var tally = LaneTally()
    for major in 1...UInt8.max { tally.countJob(on: OSVersion(major, 0)) }
    // A tally has 32 systems. The other 223 of 255 count as unknown, which is 0.
    #expect(tally.jobsBySystem.values.reduce(0, +) == tally.expanded && tally.jobsBySystem[0] == 223)
    let progress = ProgressRecord(
        send: "s1", key: ScopeKey(app: "shop", group: "m"), isDryRun: false, acceptedAt: 1, writtenAt: 2,
        part: .lanes([4], tally))
    #expect(try ProgressRecord.decode(progress.encoded(), with: reader) == progress)
}

@Test func `a cancel and a send in one topic are distinguished`() throws {
    for key in [
        ScopeKey(app: "shop", group: "m"), ScopeKey(app: "shop", group: "m", recipient: .user("ben")),
        ScopeKey(app: "shop", activity: "a"),
    ] {
        var cancel = Cancellation(send: "s1", app: "shop", key: key, acceptedAt: 1)
        #expect(cancel.scopeKey == key)
        #expect(try SendRequest.decode(cancel.encoded(), with: reader) == .cancellation(cancel))
        cancel.recipient = .user("ada")
        #expect(try SendRequest.decode(cancel.encoded(), with: reader) == .cancellation(cancel))
    }
    #expect(try SendRequest.decode(makeHeldSend().encoded(), with: reader) == .send(makeHeldSend()))
}

@Test func `an invalid send is refused`() throws {
    /// Returns the problem of a send. Checks that decoding refuses exactly a send with a problem.
    func problem(_ event: PushEvent, _ audience: Audience, group: String? = "m", owner: Recipient? = nil)
        -> String?
    {
        var send = Send(
            id: "s", app: "shop", group: group, audience: audience, content: PushContent(event),
            priority: .immediate,
            acceptedAt: 1)
        send.owner = owner
        let read = try? Send.decode(send.encoded(), with: reader)
        #expect((read == nil) == (send.problem != nil))
        return send.problem
    }
    let ben = Recipient.user("ben")
    for audience: Audience in [.everyone, .segments(["a"]), .tags(["a"]), .users(["ben"])] {
        #expect(problem(.start, audience) == nil)
    }
    for event in [PushEvent.update, .end] {
        for audience: Audience in [.group, .users(["ben"]), .activities(["a", "b"])] {
            #expect(problem(event, audience) == nil)
        }
        for audience: Audience in [
            .everyone, .segments(["a"]), .tags(["a"]), .users([]), .users(["a", "a"]),
        ] {
            #expect(problem(event, audience) != nil)
        }
        #expect(problem(event, .activities(["a"]), group: nil) == nil)
        #expect(problem(event, .activities(["a", "b"]), group: nil) != nil)
        #expect(problem(event, .group, group: nil) != nil)
    }
    for audience: Audience in [.group, .activities(["a"]), .tags([])] {
        #expect(problem(.start, audience) != nil)
    }
    for event in PushEvent.allCases {
        #expect(problem(event, .users(["ben"]), owner: ben) == nil)
        #expect(problem(event, .users(["ada"]), owner: ben) != nil)
        #expect(problem(event, .users(["ben", "ada"]), owner: ben) != nil)
        #expect(problem(event, .everyone, owner: ben) != nil)
    }
}

@Test func `a subscription reads back among requests, and one without a valid lane is refused`() throws {
    let subscription = Subscription(lane: 11, app: "shop", group: "m/1")
    let request = try SendRequest.decode(subscription.encoded(), with: reader)
    #expect(request == .subscription(subscription))
    #expect(request.scopeKey == ScopeKey(app: "shop", group: "m/1"))
    let textWithWrongLane = String(decoding: subscription.encoded(), as: UTF8.self).replacing(
        "11", with: "-1")
    #expect(throws: RecordDecodingError.self) {
        try SendRequest.decode(Array(textWithWrongLane.utf8), with: reader)
    }
}

@Test func `a lane's row of a scope keeps the state of its subscription`() throws {
    var scope = LaneScope()
    for state in LaneScope.SubscriptionState.allCases {
        scope.subscription = state
        #expect(try LaneScope.decode(scope.encoded(), with: reader) == scope)
    }
    scope.timestamp = 7
    scope.timestampVersion = 8
    scope.generationTimestamp = 9
    #expect(try LaneScope.decode(scope.encoded(), with: reader) == scope)
    scope.endedActivities = [.init("a1", endVersion: 5), .init("a2", endVersion: 6)]
    scope.endedGenerations = [.init(generation: 3, endVersion: 5), .init(generation: 6, endVersion: 7)]
    #expect(try LaneScope.decode(scope.encoded(), with: reader) == scope)
    scope.newestState = state(7)
    scope.newestState?.isConflatable = false
    scope.version = 7
    scope.updateVersion = 7
    #expect(try LaneScope.decode(scope.encoded(), with: reader) == scope)
}

@Test func `the number of groups that only phones have named reads back, and its key is no other row's`()
    throws
{
    var groups = SubscribedGroups()
    #expect(try SubscribedGroups.decode(groups.encoded(), with: reader) == groups)
    let times = [0, 1, 100].map {
        SubscribedGroups.membersUntil(subscribedAt: 1_763_600_000_000 + $0 * 3_600_000)
    }
    for time in times + times { groups.add(groupWithMembersUntil: time) }
    groups.remove(groupWithMembersUntil: times[0])
    groups.noteUnstoredSubscription(at: 1_763_600_000_000)
    #expect(try SubscribedGroups.decode(groups.encoded(), with: reader) == groups)
    #expect(groups.end == times[2])
    #expect(groups.countAfterRemovingForgotten(at: times[0] - 1) == 5)
    #expect(groups.countAfterRemovingForgotten(at: times[0]) == 4)
    let key = SubscribedGroups.key(app: "shop")
    #expect(String(decoding: key, as: UTF8.self) == "shop/")
    #expect(key.withUnsafeBytes { SubscribedGroups.isKey($0) })
    #expect(key.withUnsafeBytes { !SendIdempotencyRow.isKey($0) && ScopeKey(bytes: $0) == nil })
    for other in ["/shop/s1", "shop/m", "shop//a", "shop/m/u:a", "/", ""] {
        #expect(Array(other.utf8).withUnsafeBytes { !SubscribedGroups.isKey($0) }, "\(other)")
    }
}

@Test func `a set of lanes reads back, also with a thousand lanes`() throws {
    var row = GroupRow()
    #expect(try GroupRow.decode(row.encoded(), with: reader).memberLanes == .every)
    for lanes in [[], [0], [7, 8], [0, 10], Array(stride(from: 1, to: 1000, by: 7))] {
        row.memberLanes = .only(LaneSet(lanes))
        let read = try GroupRow.decode(row.encoded(), with: reader).memberLanes
        #expect(read == row.memberLanes && read.lanes(of: 1000) == lanes)
        #expect(lanes.allSatisfy(read.contains) && !read.contains(999))
    }
}
