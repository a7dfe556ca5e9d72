import Identifiers
import Payloads
import Schedules
import Sends
import StageSupport
import Store

@testable import Scheduler

/// The rows of `timers` in memory, as the table of a transaction.
struct PlainTable: TimerTable {
    var rows: [[UInt8]: TimerRow] = [:]
    var idempotencyRows: [[UInt8]: ScheduleIdempotencyRow] = [:]
    /// The number of recently fired timers that every cancel matches.
    var firedCount = 0

    func timers(of owner: ScheduleOwner, app: String) -> [TimerRow] {
        rows.values.filter { $0.owner == owner && $0.app == app }
    }
    func timers(naming user: String, app: String) -> [TimerRow] {
        rows.values.filter { $0.app == app && $0.send.names(user) }
    }
    func idempotencyRow(for key: [UInt8]) -> ScheduleIdempotencyRow? { idempotencyRows[key] }
    mutating func set(_ row: TimerRow) { rows[row.key] = row }
    mutating func set(_ row: ScheduleIdempotencyRow, key: [UInt8]) { idempotencyRows[key] = row }
    mutating func remove(_ row: TimerRow) { rows[row.key] = nil }
    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int {
        firedCount
    }
}

/// Returns an update of the group `chest` for one user.
func makeSend(_ id: String = "r-1", user: String = "ben") -> Send {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return Send(
        id: id, app: "shop", group: "chest", audience: .users([user]), content: content, priority: .immediate,
        acceptedAt: 1)
}

/// Returns a command of one user.
func command(_ action: ScheduleCommand.Action, user: String = "ben") -> ScheduleCommand {
    ScheduleCommand(action, app: "shop", owner: .recipient(.user(user)), acceptedAt: 1)
}

/// Decides a command. Returns the answer.
func decide(_ command: ScheduleCommand, at stamp: Int64 = 1000, in table: inout PlainTable) throws
    -> GatewayReply.Outcome
{
    try TimerCommands().decide(command, stamp: stamp, offset: 7, in: &table).answer
}
