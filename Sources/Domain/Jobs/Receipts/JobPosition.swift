/// The first position of jobs: the record of their sheet, or of their dead letter if they were sent again.
/// Together with a line number it identifies a job for its whole life, through all retry tiers.
package struct JobPosition: Sendable, Hashable {
    /// The topic without the installation's prefix, for example `jobs`.
    package var topic: String
    package var partition: Int32
    package var offset: Int64

    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}
