internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import StageSupport
internal import Telemetry
internal import Topics

// The records of a transaction.

extension ExpanderDecider {
    func countOutcomes(of share: LaneShare) {
        let jobs = share.expander.output.jobs
        let sheets = share.expander.output.sheets.count
        metrics.jobs.add(jobs)
        metrics.sheets.add(sheets)
        let now = stage.time.wall().milliseconds
        for sheet in share.expander.output.sheets {
            let head = share.expander.output.heads[sheet.head].head
            metrics.sendAge.observe(acceptedAt: head.acceptedAt, now: now, jobs: sheet.lines.count)
        }
        stage.metrics.records(withOutcome: "expanded").add(share.takenCount)
        metrics.subscriptions.add(share.expander.output.subscriptions.count)
        for progress in share.expander.output.progress {
            if case .lanes(_, let tally) = progress.part { metrics.count(tally) }
        }
    }

    /// Sends all records of the transaction. Returns false if the producer refused one.
    func sendOutput(
        of shares: [LaneShare], by producer: TransactionalProducer, to topics: [Topic]
    ) -> Bool {
        func topic(_ name: TopicName) -> Topic {
            guard let index = Self.outputTopics.firstIndex(of: name) else {
                preconditionFailure("the transaction has no output topic \(name)")
            }
            return topics[index]
        }
        func send(_ record: some JSONRecord, key: [UInt8], to topic: Topic) -> Bool {
            producer.queue(
                to: topic, partition: Int32(partitioner.partition(of: key)), key: key.span,
                value: record.encoded().span)
        }
        let (urgent, normal) = (topic(.jobsUrgent), topic(.jobs))
        for share in shares {
            guard
                share.expander.output.sendSheets(
                    of: share.lane.partition, by: producer, urgent: urgent, normal: normal)
            else { return false }
        }
        stage.reportStep(.jobsSent)
        guard sendScopeRows(of: shares, by: producer, to: topic(.starts)) else { return false }
        stage.reportStep(.scopeRowsSent)
        let progress = topic(.progress)
        var reports = CompletionReports()
        for share in shares {
            for progress in share.expander.output.progress { reports.add(progress) }
        }
        for (key, report) in reports.records {
            guard send(report, key: key, to: progress) else { return false }
        }
        stage.reportStep(.progressSent)
        let walks = topic(ExpanderInputTopic.walks.name)
        for share in shares {
            for rest in share.expander.output.continuations {
                let value = rest.encoded()
                guard producer.queue(to: walks, partition: share.lane.partition, key: nil, value: value.span)
                else { return false }
            }
        }
        stage.reportStep(.continuationsSent)
        let subscriptions = topic(.subscriptions)
        for share in shares {
            for subscription in share.expander.output.subscriptions {
                guard send(subscription, key: subscription.scopeKey.bytes, to: subscriptions) else {
                    return false
                }
            }
        }
        stage.reportStep(.subscriptionsSent)
        return true
    }

    /// Sends one row of each lane in turn. The first records of all partitions then come within one millisecond, and
    /// the client adds all partitions to the transaction in one request.
    private func sendScopeRows(
        of shares: [LaneShare], by producer: TransactionalProducer, to topic: Topic
    ) -> Bool {
        let rowsMax = shares.lazy.map { $0.expander.table.changeCount }.max() ?? 0
        for number in 0..<rowsMax {
            for share in shares where number < share.expander.table.changeCount {
                let (key, value) = share.expander.table.changedRecord(at: number)
                guard
                    producer.queue(
                        to: topic, partition: share.lane.partition, key: key.bytes.span, value: value.span)
                else { return false }
            }
        }
        return true
    }
}
