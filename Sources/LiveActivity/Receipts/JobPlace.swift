/// Where jobs first stood: the record of their sheet, or of their dead letter where they were sent again.
/// With its line on it, this names a job for its whole life, whatever tiers it waits in.
package struct JobPlace: Sendable, Hashable {
    /// Without the installation's prefix: `jobs`.
    package var topic: String
    package var partition: Int32
    package var offset: Int64

    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}
