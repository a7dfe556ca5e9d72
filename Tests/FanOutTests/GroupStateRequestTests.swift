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

// The planner's answers to lanes that ask for the newest state of a group.

private func answer(_ lane: Int = 1, at seconds: Int64, in rows: inout Rows) throws -> Plan {
    let enquiry = GroupStateRequest(lane: lane, app: "shop", group: "match")
    return try planner.plan(.groupState(enquiry), stamp: (dawn + seconds) * 1000, app: nil, in: &rows)
}

@Test func `only the lane that asks gets the newest state of its group`() throws {
    var rows = Rows()
    _ = try planner.plan(makeSend(.start, to: .everyone), at: 0, in: &rows)
    let started = try #require(try answer(at: 1, in: &rows).expansions.first).expansion
    #expect(started.content.event == .update && started.content.alert == nil && started.version == dawn)
    let update = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    let before = rows
    let plan = try answer(at: 9, in: &rows)
    #expect(rows == before)
    #expect(plan.progress.isEmpty && plan.note == nil)
    let part = try #require(plan.expansions.first)
    #expect(plan.expansions.count == 1 && part.lane == 1 && !part.isUrgent)
    var same = try #require(update.expansions.first).expansion
    same.answersStateRequest = true
    #expect(part.expansion == same)
    _ = try planner.plan(makeSend(.end, state: 5), at: 10, in: &rows)
    #expect(try answer(at: 11, in: &rows).expansions.first?.expansion.content.event == .end)
}

@Test func `an enquiry gets no answer without a valid state`() throws {
    var rows = Rows()
    #expect(try answer(at: 0, in: &rows) == Plan(), "the group is unknown")
    _ = try planner.plan(makeSend(.update, id: "u", state: 4), at: 5, in: &rows)
    #expect(try answer(3, at: 6, in: &rows) == Plan(), "the lane does not exist")
    #expect(try answer(at: 6 + 8 * 3600, in: &rows) == Plan(), "the deadline of the update has passed")
    _ = try planner.cancel("u", at: 7, in: &rows)
    #expect(try answer(at: 8, in: &rows) == Plan(), "the update was cancelled")
}
