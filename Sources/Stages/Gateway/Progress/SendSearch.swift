internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Schedules
internal import Sends
internal import Telemetry
internal import Topics

/// The search for one send in the topics. It blocks the thread of the `SendLookup`.
///
/// A planned send has records in `progress`. A send for later has a timer in `timers` until it fires. A send
/// that is not planned yet is only in `sends` or `sends.timed`. The topics are searched in this order. There is
/// no index: the id names the partitions, and a random id also the time of acceptance.
final class SendSearch {
    private let layout: TopicLayout
    private let context: ServiceContext
    private let partitionSearch: PartitionSearch
    private let reader = JSONReader()

    init(cluster: Cluster, layout: TopicLayout, context: ServiceContext, on loop: EventLoop) {
        self.layout = layout
        self.context = context
        partitionSearch = PartitionSearch(cluster: cluster, context: context, on: loop)
    }

    func close() { partitionSearch.close() }

    /// Finds a send of an app, within `GatewayLimits.lookupMilliseconds`.
    ///
    /// - Parameters:
    ///   - callDeadline: The end of the call. If it has passed, no client waits for the result.
    func find(
        _ id: SendID, of app: String, from start: SearchStart, by callDeadline: Instant
    ) -> SendLookup.LookupResult {
        let now = Instant.now()
        guard now < callDeadline else { return .timedOut }
        defer { partitionSearch.disconnectWhenIdle() }
        let deadline = min(callDeadline, now.advanced(byMilliseconds: GatewayLimits.lookupMilliseconds))
        do {
            return try search(for: id, of: app, from: start, until: deadline)
        } catch {
            context.log.warning("cannot search for a send; the call gets 503", .field("error", "\(error)"))
            partitionSearch.dropConsumer()
            return .unavailable
        }
    }

    private func search(
        for id: SendID, of app: String, from start: SearchStart, until deadline: Instant
    ) throws -> SendLookup.LookupResult {
        let (progress, isProgressRead) = try findProgress(of: id, from: start, until: deadline)
        if let key = progress.key {
            return key.app == app ? .send(FoundSend(progress: progress)) : .notFound
        }
        if let timersPartition = id.timersPartition {
            // `notBefore` comes from the insight stage, which does not know timers by their sends. So the timer may be
            // older than that time.
            let timerStart = start.mayBeEarlier ? start : .backwardsFromEnd
            let (timer, areTimersRead) = try findTimer(
                of: id, in: timersPartition, from: timerStart, until: deadline)
            if let timer {
                let progress = SendProgress(waiting: timer.send, dueAt: timer.dueAt)
                return timer.app == app
                    ? .send(FoundSend(progress: progress, timerOwner: timer.owner)) : .notFound
            }
            if !areTimersRead { return .timedOut }
        }
        let (send, areSendsRead) = try findUnplannedSend(
            id, from: start.ofRequests, until: deadline)
        if let send {
            return send.app == app ? .send(FoundSend(progress: SendProgress(waiting: send))) : .notFound
        }
        return isProgressRead && areSendsRead ? .notFound : .timedOut
    }

    // MARK: The three searches
    //
    // Each also returns whether every record that could match was read before the deadline.

    /// Adds up the records that the planner and the lanes wrote about a send.
    private func findProgress(
        of id: SendID, from start: SearchStart, until deadline: Instant
    ) throws -> (SendProgress, isComplete: Bool) {
        let key = RecordKey.join(id.text)
        let lane = Murmur2.partition(forKey: key.span, partitionCount: layout.lanes)
        var progress = SendProgress(id: id.text)
        let isComplete = try partitionSearch.run(
            in: partition(lane, of: .progress), from: start, until: deadline
        ) { record in
            guard let recordKey = [UInt8](copying: record.key), recordKey == key,
                let value = [UInt8](copying: record.value),
                let part = try? ProgressRecord.decode(value, with: reader)
            else { return false }
            progress.add(part)
            // A finished send can still be cancelled, so the search continues to the end of the partition.
            return false
        } isFound: {
            progress.key != nil
        }
        return (progress, isComplete)
    }

    /// Finds the timer of a send that waits for its time. A timer that has fired or was cancelled is not returned.
    private func findTimer(
        of id: SendID, in number: Int, from start: SearchStart, until deadline: Instant
    ) throws -> (TimerRow?, isComplete: Bool) {
        var waitingTimer: TimerRow?
        // The record key of the send's timer. It stays when a later record deletes the timer.
        var timerKey: [UInt8]?
        let idField = Array(#""id":"\#(id.text)""#.utf8)
        let isComplete = try partitionSearch.run(
            in: partition(number, of: .timers), from: start, until: deadline
        ) { record in
            guard let value = record.value else {
                // A timer has fired or was cancelled.
                if timerKey != nil, timerKey == [UInt8](copying: record.key) { waitingTimer = nil }
                return false
            }
            // Only a record with the text of the id is decoded.
            guard value.contains(bytes: idField), let bytes = [UInt8](copying: record.value),
                let timer = try? TimerRow.decode(bytes, with: reader), timer.send.id == id.text
            else { return false }
            (waitingTimer, timerKey) = (timer, [UInt8](copying: record.key))
            return false
        } isFound: {
            timerKey != nil
        }
        return (waitingTimer, isComplete)
    }

    /// Finds the request of a send that the planner has not read yet.
    private func findUnplannedSend(
        _ id: SendID, from start: SearchStart, until deadline: Instant
    ) throws -> (Send?, isComplete: Bool) {
        var send: Send?
        let topic = id.timersPartition == nil ? TopicName.sends : .sendsTimed
        // The record of a send begins with its id, so only that record is decoded.
        let recordStart = Array(#"{"v":\#(Send.schemaVersion),"id":"\#(id.text)""#.utf8)
        let isComplete = try partitionSearch.run(
            in: partition(id.partition, of: topic), from: start, until: deadline
        ) { record in
            guard let span = record.value, span.starts(with: recordStart),
                let value = [UInt8](copying: record.value),
                case .send(let decoded)? = try? SendRequest.decode(value, with: reader)
            else { return false }
            send = decoded
            return true
        } isFound: {
            send != nil
        }
        return (send, isComplete)
    }

    private func partition(_ number: Int, of topic: TopicName) -> TopicPartition {
        TopicPartition(layout.name(of: topic), Int32(number))
    }
}

extension Span<UInt8> {
    fileprivate func contains(bytes: [UInt8]) -> Bool {
        guard count >= bytes.count else { return false }
        return (0...count - bytes.count).contains { start in
            bytes.indices.allSatisfy { self[start + $0] == bytes[$0] }
        }
    }

    fileprivate func starts(with bytes: [UInt8]) -> Bool {
        guard count >= bytes.count else { return false }
        for index in bytes.indices where self[index] != bytes[index] { return false }
        return true
    }
}
