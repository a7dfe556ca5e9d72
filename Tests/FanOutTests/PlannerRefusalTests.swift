import CatalogRecords
import ContentSchemas
import Identifiers
import JSON
import Payloads
import RecordFormat
import Schedules
import Sends
import Testing

@testable import FanOut

// Sends that the planner refuses, with the findings that it reports.

/// The attributes of a start contain the id of the group, which the gateway has added.
@Test func `the attributes of the start count once in the size of an update`() throws {
    var rows = Rows()
    var start = makeSend(.start, to: .everyone)
    let attributes = #"{"home":"\#(String(repeating: "A", count: 500))","netmeraGroupId":"match"}"#
    start.content.attributes = raw(attributes)
    _ = try planner.plan(start, at: 0, in: &rows)
    func update(bytes: Int) -> Send {
        var update = makeSend(.update)
        let frame = #"{"text":""}"#.utf8.count
        update.content.contentState = raw(
            #"{"text":"\#(String(repeating: "x", count: bytes - frame))"}"#)
        return update
    }
    let room = PayloadRules.dataBytesMax - attributes.utf8.count
    #expect(try planner.plan(update(bytes: room + 1), at: 1, in: &rows).verdicts == [.refused])
    #expect(try planner.plan(update(bytes: room), at: 2, in: &rows).verdicts == [.planned])
}

@Test func `an update is checked by the type of its group's start`() throws {
    var rows = Rows()
    var app = shop
    var type = ActivityType(name: "Match")
    type.contentStateSchema = try JSONReader().read(Array(#"{"goals":"int"}"#.utf8)) {
        ContentSchema(from: $0)
    }
    app.activityTypes = [type, ActivityType(name: "Other")]
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows, app: app)
    var wrong = makeSend(.update)
    wrong.content.contentState = raw(#"{"goals":"one"}"#)
    let plan = try planner.plan(wrong, at: 1, in: &rows, app: app)
    #expect(plan.verdicts == [.refused])
    guard case .planner(let part) = plan.progress[0].part else { throw Missing() }
    #expect(part.findings.count == 1)
    #expect(part.findings[0].contains("goals"))
    #expect(plan.expansions.isEmpty)
}

@Test func `names that make a key too long are refused`() throws {
    var rows = Rows()
    let slashes = String(repeating: "/", count: 200)
    let long = makeSend(.update, to: .users(["ben", slashes]), group: slashes)
    #expect(try planner.plan(long, at: 0, in: &rows).verdicts == [.refused])
    #expect(rows.rows.isEmpty)
    let plain = makeSend(.update, to: .users([slashes]), group: "match")
    #expect(try planner.plan(plain, at: 0, in: &rows).verdicts == [.refused])
    let usual = String(repeating: "a", count: 200)
    #expect(
        try planner.plan(makeSend(.update, to: .users([usual]), group: usual), at: 0, in: &rows).verdicts
            == [.planned])
}
