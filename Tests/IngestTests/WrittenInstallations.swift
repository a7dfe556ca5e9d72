import IngestTesting
import InstallationRecords
import Kafka
import RecordFormat
import Telemetry
import Testing
import Topics

/// Writes records of `installations` as an earlier stage would have left them, and expects that all are stored.
enum WrittenInstallations {
    static func write(_ installations: some Sequence<Installation>, to bed: TestBed) throws {
        var options = ProducerOptions()
        // With compression, a fetch of one mebibyte could contain any number of records. Without it, a view reads many
        // records in several batches.
        options.compression = .none
        let producer = try Producer(
            settings: bed.settings, options: options, name: "before", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .installations))
        var deliveries: [Delivery] = []
        var sentCount = 0
        for installation in installations {
            let (key, value) = (installation.key, installation.encoded())
            while producer.send(to: topic, partition: nil, key: key.span, value: value.span, tag: 0) == .full
            {
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
            }
            sentCount += 1
        }
        let missingCount = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(missingCount == 0)
        let storedCount = deliveries.count { $0.isStored }
        #expect(storedCount == sentCount)
    }
}
