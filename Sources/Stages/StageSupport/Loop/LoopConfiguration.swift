package import Kafka
package import Store
package import Topics

/// The description of a stage's loop: its names, its topics and its limits. `StageClients` makes the clients from it.
package struct LoopConfiguration {
    /// The name of the stage, which is a part of its Kafka identity and of its directory.
    package let stage: String
    /// The number of the loop within the stage. A number is never used for another loop.
    package var loopNumber = 0
    /// The name of the consumer group, and the beginning of the names of the loop's clients.
    package let group: String
    /// The name of the records that the group reads, such as `orders`.
    package let inputName: String
    /// The topics that the group reads.
    package let subscription: TopicSubscription
    /// The topics that another consumer of the loop reads, with the same partitions. Their offsets are committed in
    /// this group.
    package var followedTopics: [TopicName] = []
    /// The topics of the transactions, in the order in which `sendOutput` receives them.
    package let outputTopics: [TopicName]
    package let view: TopicViewDefinition
    package var viewLimits = EnvironmentLimits()
    package var producerOptions = ProducerOptions()

    package var batchRecordsMax = RecordBatch.recordsMaxDefault
    package var batchBytesMax = RecordBatch.bytesMaxDefault
    /// The number of failed transactions with only one record after which that record becomes a dead letter.
    package var loneRecordTriesMax = LoneRecordFailures.triesMaxDefault
    /// The most rows and bytes that are committed and not read back into the views of all partitions. Above either
    /// limit the loop takes no records.
    package var overlayRowsMax = Int.max
    package var overlayBytesMax = Int.max
    /// The time after which the group gives up a silent member.
    package var sessionMilliseconds = ConsumerOptions.sessionMillisecondsDefault
    /// The limits of what the group's consumer fetches ahead, as in `ConsumerOptions`. Nil for the defaults.
    package var prefetchKibibytesMax: Int?
    package var partitionKibibytesMax: Int?
    package var fetchKibibytesMax: Int?

    /// The topics that the group reads.
    package var topics: [TopicName] { subscription.topics }

    package init(
        stage: String, group: String, inputName: String, subscription: TopicSubscription,
        outputTopics: [TopicName], view: TopicViewDefinition
    ) {
        self.stage = stage
        self.group = group
        self.inputName = inputName
        self.subscription = subscription
        self.outputTopics = outputTopics
        self.view = view
    }
}
