internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import StageSupport

// The requests that the lanes read ahead.

extension ExpanderDecider {
    /// Sorts the records of the batch into the queues of their lanes.
    func process(_ batch: inout PendingBatch) {
        stage.reportStep(.requestsRead)
        for part in batch.parts {
            if let lane = stage.member.assignedPartitions[part.partition] {
                enqueue(part, of: batch.records, in: lane)
            }
        }
        batch.markAllTaken()
        for lane in assignedLanes where lane.isServing {
            for topic in ExpanderInputTopic.allCases where lane[topic].isFull && !lane[topic].isPaused {
                lane[topic].isPaused = true
                stage.consumer.pause([topicPartition(of: topic, number: lane.partition)])
            }
        }
    }

    private func enqueue(_ part: BatchPart, of batch: borrowing RecordBatch, in lane: AssignedLane) {
        guard let topic = ExpanderInputTopic(rawValue: part.topic) else { return }
        var part = part
        while !part.isTaken {
            let index = part.nextIndex
            part.markNextTaken()
            let offset = batch[index].offset
            guard lane[topic].isNew(offset: offset) else { continue }
            let request: ExpansionRequest?
            do throws(RejectedRecord) {
                request = try read(batch[index])
            } catch {
                stage.sendToDeadLetters(recordAt: index, of: batch, as: error, at: times.now)
                request = nil
            }
            lane[topic].append(
                UncommittedRequest(
                    request: request, offset: offset, bytes: batch[index].byteCount,
                    stamp: batch[index].timestamp))
        }
    }

    func topicPartition(of topic: ExpanderInputTopic, number partition: Int32) -> TopicPartition {
        stage.topicPartition(of: topic.name, number: partition)
    }

    private func read(_ record: borrowing Kafka.Record) throws(RejectedRecord) -> ExpansionRequest {
        guard let value = record.value else {
            throw RejectedRecord(code: "empty", reason: "the record has no value")
        }
        do throws(RecordDecodingError) {
            return try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe ExpansionRequest.decode(bytes, with: reader)
            }
        } catch {
            throw RejectedRecord(error)
        }
    }
}
