import Identifiers
import Schedules
import Sends
import StageSupport

@testable import Scheduler

// The checks of each committed record. They know all accepted commands, and nothing of the scheduler's memory.
extension SchedulerWorld {
    /// Checks the answer to a command.
    ///
    /// - Parameter stamp: The timestamp of the command's record, in milliseconds since 1970.
    func check(
        _ decision: TimerCommands.Decision, about command: ScheduleCommand, stamp: Int64, partition: Int
    ) {
        switch (command.action, decision.answer) {
        case (.schedule(let schedule), .scheduled(let answer)):
            accept(
                schedule, of: command, stamp: stamp, answer: answer,
                isRepeated: decision.outcome == .repeated,
                partition: partition)
        case (.schedule(let schedule), .conflict):
            guard let earlierRequest = earlierRequest(schedule, of: command, at: stamp),
                earlierRequest.fingerprint != schedule.idempotency?.fingerprint
            else { return reportFault("a conflict without an earlier request") }
        case (.cancel(let selection), .cancelled(let count, let tooLate)):
            self.tooLate += tooLate
            cancel(selection, of: command, count: count)
        default: reportFault("\(decision.answer) is the wrong answer to \(command.action)")
        }
    }

    /// Returns the accepted request with the same idempotency key, if the scheduler must still know it.
    private func earlierRequest(
        _ schedule: Schedule, of command: ScheduleCommand, at stamp: Int64
    ) -> AcceptedRequest? {
        guard let key = schedule.idempotency?.key,
            let request = acceptedRequests[command.owner.text + "/" + key],
            stamp - request.at < Idempotency.retentionMilliseconds
        else { return nil }
        return request
    }

    /// Checks the acceptance of a timer, and remembers the timer. It replaces a waiting timer with the same owner and
    /// id.
    private func accept(
        _ schedule: Schedule, of command: ScheduleCommand, stamp: Int64,
        answer: GatewayReply.ScheduledTimer, isRepeated: Bool, partition: Int
    ) {
        if let earlierRequest = earlierRequest(schedule, of: command, at: stamp) {
            if earlierRequest.answer != answer || !isRepeated {
                reportFault("a repetition has another answer")
            }
            return
        }
        if let idempotency = schedule.idempotency {
            acceptedRequests[command.owner.text + "/" + idempotency.key] = AcceptedRequest(
                fingerprint: idempotency.fingerprint, answer: answer, at: stamp)
        }
        let replacedTimers = timers.filter { _, timer in
            timer.outcome == nil && timer.row.owner == command.owner && timer.row.id == schedule.id
        }
        if replacedTimers.isEmpty == answer.isReplacement {
            reportFault("\(schedule.id) has the wrong value of replaced")
        }
        for sendID in replacedTimers.keys { timers[sendID]?.outcome = .replaced }
        var row = TimerRow(
            app: command.app, owner: command.owner, id: schedule.id, activity: schedule.activity,
            dueAt: answer.dueAt, latenessMillisecondsMax: schedule.latenessMillisecondsMax,
            send: schedule.send, commandOffset: 0)
        row.send.scheduledAt = stamp
        if case .offset(let offset) = schedule.dueTime, answer.dueAt != stamp + offset {
            reportFault("an offset does not count from the stamp")
        }
        timers[schedule.send.id] = Timer(row: row, partition: partition)
    }

    /// Checks the number of timers that a cancel has ended, and ends them.
    private func cancel(
        _ selection: ScheduleCommand.TimerSelection, of command: ScheduleCommand, count: Int
    ) {
        let selectedTimers = timers.filter { _, timer in
            guard timer.outcome == nil, timer.row.owner == command.owner else { return false }
            return switch selection {
            case .activity(let name): timer.row.activity == name
            case .id(let id): timer.row.id == id
            case .send(let id): timer.row.send.id == id
            }
        }
        if selectedTimers.count != count {
            reportFault("\(selectedTimers.count) timers match the cancel, \(count) were cancelled")
        }
        for sendID in selectedTimers.keys { timers[sendID]?.outcome = .cancelled }
        cancelled += count
    }

    /// Checks a timer that the scheduler has taken out because it is due. It fires, or has expired.
    ///
    /// - Parameter decisionTime: The scheduler's time of the decision, in milliseconds since 1970.
    func checkFired(_ row: TimerRow, partition: Int, at decisionTime: Int64) {
        guard let timer = timers[row.send.id] else { return reportFault("\(row.send.id) was never accepted") }
        if let outcome = timer.outcome {
            return reportFault("\(row.send.id) fires and was already \(outcome)")
        }
        if time < row.dueAt { reportFault("\(row.send.id) fires \(row.dueAt - time) ms early") }
        if time < decisionTime { reportFault("the clock is ahead of the cluster") }
        guard case .fires(let send) = row.outcome(at: decisionTime) else {
            expired += 1
            if time - row.dueAt <= row.latenessMillisecondsMax {
                reportFault("\(row.send.id) expires too early")
            }
            timers[row.send.id]?.outcome = .expired
            return
        }
        fired += 1
        timers[row.send.id]?.outcome = .fired
        if send.acceptedAt != row.dueAt || send.scheduledAt != timer.row.send.scheduledAt {
            reportFault("\(row.send.id) does not carry its due time")
        }
        if isCancelledInTime(row, partition: partition) {
            reportFault("\(row.send.id) fires but was cancelled in time")
        }
    }

    /// Whether the log has a cancel of the timer that the scheduler must know, although it has not processed it yet.
    private func isCancelledInTime(_ row: TimerRow, partition: Int) -> Bool {
        logs[partition].commands[logs[partition].committed...].contains { record in
            guard record.stamp <= row.dueAt - CommandReadProgress.cancelLeadMilliseconds,
                let command = record.command, command.owner == row.owner
            else { return false }
            switch command.action {
            case .cancel(.activity(let name)): return row.activity == name
            case .cancel(.id(let id)): return row.id == id
            case .cancel(.send(let id)): return row.send.id == id
            case .erase: return true
            case .schedule, .list: return false
            }
        }
    }
}
