/// The position of the record that first held a sheet's jobs: the sheet itself, or the dead letter that was
/// sent again. With a line number it identifies a job through all its attempts, also when the job moves to
/// another topic, such as `jobs.later.5s`.
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
