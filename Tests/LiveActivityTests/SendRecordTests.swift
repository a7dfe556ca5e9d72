import JSON
import Testing

@testable import LiveActivity

private var reader: JSONReader { JSONReader() }

private func state(_ version: Int64) -> ScopeState {
    var content = PushContent(.update)
    content.contentState = raw(#"{"goals": 1.0}"#)
    return ScopeState(
        send: "s1", version: version, content: content, priority: 5, deadline: 1_763_610_000, expiration: 0,
        acceptedAt: 1_763_600_000_123)
}

@Test func `the keys of group rows are distinct and name their group and recipient`() {
    let keys = [
        GroupKey(app: "shop", group: "m/1"), GroupKey(app: "shop", group: "m/1", recipient: .user("b/n")),
        GroupKey(app: "shop", group: "m/1", recipient: .installation("b/n")),
        GroupKey(app: "shop", activity: "m/1"),
    ]
    let texts = keys.map { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(texts == ["shop/m%2f1", "shop/m%2f1/u:b%2fn", "shop/m%2f1/i:b%2fn", "shop//m%2f1"])
    for key in keys {
        let read = key.bytes.withUnsafeBytes { GroupKey(bytes: $0) }
        #expect(read == key)
        #expect(!key.bytes.withUnsafeBytes { SeenSend.isKey($0) })
    }
    let seen = SeenSend.key(app: "shop", send: "s1")
    #expect(String(decoding: seen, as: UTF8.self) == "/shop/s1")
    #expect(seen.withUnsafeBytes { SeenSend.isKey($0) })
    for bad in ["/shop/s1", "shop", "shop/", "shop/m/x:1", "shop/m/u:1/more", "", "a b/m", "shop/%2"] {
        #expect(Array(bad.utf8).withUnsafeBytes { GroupKey(bytes: $0) } == nil, "\(bad)")
    }
}

@Test func `a row of groups with all its fields reads back`() throws {
    #expect(try GroupRow.decode(GroupRow().encoded(), with: reader) == GroupRow())
    var row = GroupRow()
    row.generation = 1
    row.endedAt = 2
    row.endedTime = 3
    row.version = 4
    row.floor = 5
    row.highest = 6
    row.newest = state(7)
    row.previous = [state(6), state(5), state(4)]
    row.previous[1].origin = "s0"
    row.attributesType = "Match"
    row.attributesBytes = 8
    row.updates = 9
    row.endDate = 10
    row.held = makeHeld()
    row.words = 11
    row.heldAfter = 10
    row.updatedAt = 5
    row.cancelled = [GroupRow.Cancelled(send: "s0", at: 3)]
    row.lastAt = 12
    #expect(try GroupRow.decode(row.encoded(), with: reader) == row)
    let seen = SeenSend(fingerprint: "f", at: 1)
    #expect(try SeenSend.decode(seen.encoded(), with: reader) == seen)
}

@Test func `a row from the time when only one state was kept reads back`() throws {
    var row = GroupRow()
    row.newest = state(7)
    row.previous = [state(6)]
    let text = String(decoding: row.encoded(), as: UTF8.self)
    #expect(!text.contains("earlier") && !text.contains("origin"))
    #expect(try GroupRow.decode(Array(text.utf8), with: reader) == row)
}

@Test func `a row with the largest possible states reads back`() throws {
    var largest = state(7)
    // Names this short give the most names for a size: each needs a quoted letter, a colon, a digit and a
    // comma.
    let letters = "abcdefghijklmnopqrst".map { "\"\($0)\":0" }.joined(separator: ",")
    let objects = Array(
        repeating: "{\(letters)}", count: PayloadRules.dataBytesMax / (letters.utf8.count + 3))
    largest.content.contentState = raw("{\"l\":[\(objects.joined(separator: ","))]}")
    var row = GroupRow()
    row.newest = largest
    row.previous = Array(repeating: largest, count: GroupRow.previousMax)
    row.held = makeHeld()
    row.held?.content = largest.content
    row.cancelled = (0..<SupersededNote.cancelledMax).map { GroupRow.Cancelled(send: "s\($0)", at: 3) }
    #expect(try GroupRow.decode(row.encoded(), with: reader) == row)
}

private func makeHeld() -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: "s2", app: "shop", group: "m", audience: .users(["ben"]), content: content, priority: 10,
        acceptedAt: 1)
}

@Test func `an expansion and its continuation read back`() throws {
    var expansion = Expansion(
        send: "s1", key: GroupKey(app: "shop", group: "m"), targets: .group, content: state(7).content,
        priority: 10, generation: 3, version: 7, deadline: 1_763_610_000, expiration: 0,
        acceptedAt: 1_763_600_000_000)
    for targets: Expansion.Targets in [
        .everyone, .group, .segments(["a"]), .tags(["b"]), .activities(["c"]),
        .recipients([
            .init(.user("ben"), scope: .recipient, generation: 1, version: 2),
            .init(.installation("i1"), scope: .group, generation: 3, version: 4),
        ]),
    ] {
        expansion.targets = targets
        #expect(try Expansion.decode(expansion.encoded(), with: reader) == expansion)
    }
    expansion.key = GroupKey(app: "shop", activity: "a1")
    expansion.collapseID = "c"
    expansion.ordinal = 5
    expansion.conflate = false
    expansion.onUnknownStart = .resend
    expansion.restart = true
    expansion.dryRun = true
    expansion.saysOwnState = true
    expansion.isAnswer = true
    expansion.cursor = [0, 255, 16]
    expansion.tally.targeted = 10
    expansion.tally.expanded = 7
    expansion.tally.dropped = 1
    expansion.tally.excluded = ["expired": 1, "off": 1]
    #expect(try Expansion.decode(expansion.encoded(), with: reader) == expansion)
    let text = String(decoding: expansion.encoded(), as: UTF8.self)
    let odd = text.replacing("00ff10", with: "00ff1")
    #expect(throws: RecordError.self) { try Expansion.decode(Array(odd.utf8), with: reader) }
}

@Test func `the progress of a send reads back`() throws {
    var verdict = Progress.PlannedPart(.planned, version: 7, generation: 3, lanes: 12)
    verdict.findings = ["content-state has no goals"]
    verdict.ended = 2
    verdict.recipient = .user("ben")
    var tally = LaneTally()
    tally.targeted = 3
    for system in [OSVersion(18, 1), OSVersion(18, 2), nil] { tally.expand(on: system) }
    #expect(tally.expanded == 3 && tally.systems == [18: 2, 0: 1])
    for part: Progress.Part in [.verdict(verdict), .lanes([4, 7], tally)] {
        let progress = Progress(
            send: "s1", key: GroupKey(app: "shop", group: "m", recipient: .user("ben")), dryRun: true,
            acceptedAt: 1, at: 2, part)
        #expect(try Progress.decode(progress.encoded(), with: reader) == progress)
    }
    let note = SupersededNote(app: "shop", group: "m", update: 7, end: 0, cancelled: ["s1"])
    #expect(try SupersededNote.decode(note.encoded(), with: reader) == note)
    let own = SupersededNote(app: "shop", group: "m", owner: .user("ben"), update: 0, end: 0)
    #expect(try SupersededNote.decode(own.encoded(), with: reader) == own)
    #expect(own.key != note.key)
    for owner in [nil, Recipient.user("ben")] {
        let end = EndSchedule(app: "shop", group: "m", owner: owner, generation: 7, at: 8)
        #expect(try EndSchedule.decode(end.encoded(), with: reader) == end)
        #expect(String(decoding: end.key, as: UTF8.self) == (owner == nil ? "shop/g:m" : "shop/u:ben"))
    }
}

@Test func `a progress record of version 1 for one lane can be read`() throws {
    let text =
        #"{"v":1,"send":"s1","app":"shop","group":"m","acceptedAt":1,"at":2,"lane":4,"targeted":3,"expanded":2}"#
    let progress = try Progress.decode(Array(text.utf8), with: reader)
    guard case .lanes([4], let tally) = progress.part else { throw RecordError.unknownVersion(1, known: 2) }
    #expect(tally.targeted == 3 && tally.expanded == 2)
}

@Test func `a tally stays readable for any reported system versions`() throws {
    var tally = LaneTally()
    for major in 1...UInt8.max { tally.expand(on: OSVersion(major, 0)) }
    #expect(tally.systems.values.reduce(0, +) == tally.expanded && tally.systems[0] == 223)
    let progress = Progress(
        send: "s1", key: GroupKey(app: "shop", group: "m"), dryRun: false, acceptedAt: 1, at: 2,
        .lanes([4], tally))
    #expect(try Progress.decode(progress.encoded(), with: reader) == progress)
}

@Test func `a cancel and a send in one topic are distinguished`() throws {
    for key in [
        GroupKey(app: "shop", group: "m"), GroupKey(app: "shop", group: "m", recipient: .user("ben")),
        GroupKey(app: "shop", activity: "a"),
    ] {
        var cancel = Cancel(send: "s1", app: "shop", key: key, acceptedAt: 1)
        #expect(cancel.groupKey == key)
        #expect(try SendRequest.decode(cancel.encoded(), with: reader) == .cancel(cancel))
        cancel.recipient = .user("ada")
        #expect(try SendRequest.decode(cancel.encoded(), with: reader) == .cancel(cancel))
    }
    #expect(try SendRequest.decode(makeHeld().encoded(), with: reader) == .send(makeHeld()))
}

@Test func `an invalid send is refused`() throws {
    func problem(_ event: PushEvent, _ audience: Audience, group: String? = "m", owner: Recipient? = nil)
        -> String?
    {
        var send = Send(
            id: "s", app: "shop", group: group, audience: audience, content: PushContent(event), priority: 10,
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

@Test func `a group state request reads back among sends, and one without a valid lane is refused`() throws {
    let enquiry = Enquiry(lane: 11, app: "shop", group: "m/1")
    let request = try SendRequest.decode(enquiry.encoded(), with: reader)
    #expect(request == .enquiry(enquiry))
    #expect(request.groupKey == GroupKey(app: "shop", group: "m/1"))
    let text = String(decoding: enquiry.encoded(), as: UTF8.self).replacing("11", with: "-1")
    #expect(throws: RecordError.self) { try SendRequest.decode(Array(text.utf8), with: reader) }
}

@Test func `a lane's row of a scope keeps its mark for missing updates`() throws {
    var scope = LaneScope()
    scope.mayLackUpdates = true
    #expect(try LaneScope.decode(scope.encoded(), with: reader) == scope)
}
