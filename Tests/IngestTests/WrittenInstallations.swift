import IngestTesting
import InstallationRecords
import Kafka
import RecordFormat
import Telemetry
import Testing
import Topics

/// Records of `installations`, as an earlier stage has left them.
enum WrittenInstallations {
    static func write(_ installations: some Sequence<Installation>, to bed: TestBed) throws {
        var options = ProducerOptions()
        // With compression, a fetch of one mebibyte could contain any number of records.
        options.compression = .none
        let producer = try Producer(
            settings: bed.settings, options: options, name: "before", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: bed.layout.name(of: .installations))
        var deliveries: [Delivery] = []
        var sent = 0
        for installation in installations {
            let (key, value) = (installation.key, installation.encoded())
            while producer.send(to: topic, partition: nil, key: key.span, value: value.span, tag: 0) == .full
            {
                _ = producer.collectDeliveries(into: &deliveries, waitMilliseconds: 10)
            }
            sent += 1
        }
        let left = producer.flush(withinMilliseconds: 60_000, into: &deliveries)
        #expect(left == 0)
        let stored = deliveries.count { $0.isStored }
        #expect(stored == sent)
    }
}
