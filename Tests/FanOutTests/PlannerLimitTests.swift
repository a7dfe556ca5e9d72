import Payloads
import RecordFormat
import Sends
import Testing

@testable import FanOut

// The planner's limits: the cancelled sends of a group, and the copies of a send's names.

@Test func `a cancel is refused if a hundred other sends of the group were cancelled within a day`() throws {
    var rows = Rows()
    let key = ScopeKey(app: "shop", group: "match")
    func cancel(_ id: String, at seconds: Int64) throws -> Plan {
        let cancel = Cancellation(send: id, app: "shop", key: key, acceptedAt: dawn * 1000)
        return try planner.plan(.cancellation(cancel), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
    let names = (0..<SupersededVersions.cancelledSendsMax).map { "c\($0)" }
    for (number, name) in names.enumerated() {
        #expect(try cancel(name, at: Int64(number)).verdicts == [.stopping])
    }
    _ = try planner.plan(makeSend(.update, id: "before", state: 1), at: 200, in: &rows)
    _ = try planner.plan(makeSend(.update, id: "wrong", state: 2), at: 210, in: &rows)
    let full = rows
    let refused = try cancel("wrong", at: 220)
    #expect(refused.verdicts == [.cancelRefused])
    #expect(refused.stop == nil && refused.expansions.isEmpty && refused.note == nil)
    #expect(rows == full, "no earlier cancel is forgotten")
    guard case .planner(let part) = refused.progress.first?.part else {
        Issue.record("no record of the planner")
        return
    }
    #expect(part.findings.first?.contains("the send is not cancelled and goes on") == true)
    // A repeated cancel needs no space, and a cancel that is a day old is forgotten.
    #expect(try cancel("c7", at: 230).verdicts == [.stopping])
    let later = try cancel("wrong", at: 86_400)
    #expect(later.verdicts == [.stopping, .planned])
    #expect(later.note?.cancelledSends.count == SupersededVersions.cancelledSendsMax)
    #expect(later.note?.cancelledSends.contains("c0") == false)
}

@Test func `a cancel drops a held send also if the group is full of cancels`() throws {
    var rows = Rows()
    let key = ScopeKey(app: "shop", group: "match")
    func cancel(_ id: String) throws -> Plan {
        let cancel = Cancellation(send: id, app: "shop", key: key, acceptedAt: dawn * 1000)
        return try planner.plan(.cancellation(cancel), stamp: dawn * 1000, app: shop, in: &rows)
    }
    for number in 0..<SupersededVersions.cancelledSendsMax { _ = try cancel("c\(number)") }
    for ahead in 0...6 { _ = try planner.plan(makeSend(.update, id: "u\(ahead)"), at: 0, in: &rows) }
    #expect(try cancel("u6").verdicts == [.cancelled])
}

@Test func `a send whose names would be copied into too many lanes is refused`() throws {
    let lanes = 96
    let wide = Planner(lanes: lanes) { _, _ in 0 }
    func plan(_ count: Int, by planner: Planner = wide) throws -> Plan {
        var rows = Rows()
        let names = (0..<count).map { "\(String(repeating: "a", count: 33))\(1_000_000 + $0)" }
        return try planner.plan(makeSend(.update, to: .activities(names)), at: 0, in: &rows)
    }
    // A name has 40 bytes. In JSON it has two quotes and a comma, too.
    let bytesPerName = 40 + 3
    let countMax = NamedActivityCopies.bytesMax / lanes / bytesPerName
    #expect(countMax < Audience.namesMax)
    let largest = try plan(countMax)
    #expect(largest.verdicts == [.planned])
    let bytes = largest.expansions.reduce(0) { $0 + $1.expansion.encoded().count } * lanes
    #expect(bytes < PlannerOutput.bytesMax + lanes * 4096, "all copies fit into one transaction")
    let refused = try plan(countMax + 1)
    #expect(refused.verdicts == [.refused])
    #expect(refused.expansions.isEmpty)
    guard case .planner(let part) = refused.progress.first?.part else {
        Issue.record("no record of the planner")
        return
    }
    #expect(part.findings.first?.hasSuffix("send at least 2 requests with fewer activities each") == true)
    #expect(try plan(Audience.namesMax, by: planner).verdicts == [.planned])
}
