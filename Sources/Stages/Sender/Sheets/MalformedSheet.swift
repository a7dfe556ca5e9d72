package import Jobs

/// A record of a jobs topic that cannot be read as a sheet. It goes to the dead letters as it is.
package struct MalformedSheet: Sendable {
    /// A header of the record, as Kafka stores it.
    package struct RecordHeader: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?

        package init(name: [UInt8], value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package var topic: JobTopic
    package var offset: Int64
    package var error: SheetError
    package var key: [UInt8]?
    package var value: [UInt8]?
    package var headers: [RecordHeader]
    /// The record's timestamp, in milliseconds since 1970.
    package var writtenAt: Int64

    package init(
        topic: JobTopic, offset: Int64, error: SheetError, key: [UInt8]?, value: [UInt8]?,
        headers: [RecordHeader], writtenAt: Int64
    ) {
        self.topic = topic
        self.offset = offset
        self.error = error
        self.key = key
        self.value = value
        self.headers = headers
        self.writtenAt = writtenAt
    }
}
