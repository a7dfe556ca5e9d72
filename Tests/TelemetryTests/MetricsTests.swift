import Testing

@testable import Telemetry

// The metrics of a process, as they are rendered.

@Test func `counters, gauges and histograms are rendered as Prometheus reads them`() {
    let metrics = Metrics()
    metrics.counter("flotilla_test_records_total", help: "records", labels: ["outcome": "ok"]).add(3)
    metrics.counter("flotilla_test_records_total", help: "records", labels: ["outcome": "a\"b\\c\nd"]).add()
    metrics.gauge("flotilla_test_in_flight", help: "in flight").set(2.5)
    metrics.gauge("flotilla_test_age_seconds", help: "age") { 7 }
    let histogram = metrics.histogram("flotilla_test_batch_seconds", help: "batches", bounds: [0.1, 1])
    histogram.observe(0.05)
    histogram.observe(0.1)
    histogram.observe(0.5, count: 2)
    histogram.observe(9)
    #expect(
        metrics.render() == """
            # HELP flotilla_test_age_seconds age
            # TYPE flotilla_test_age_seconds gauge
            flotilla_test_age_seconds 7
            # HELP flotilla_test_batch_seconds batches
            # TYPE flotilla_test_batch_seconds histogram
            flotilla_test_batch_seconds_bucket{le="0.1"} 2
            flotilla_test_batch_seconds_bucket{le="1"} 4
            flotilla_test_batch_seconds_bucket{le="+Inf"} 5
            flotilla_test_batch_seconds_sum 10.15
            flotilla_test_batch_seconds_count 5
            # HELP flotilla_test_in_flight in flight
            # TYPE flotilla_test_in_flight gauge
            flotilla_test_in_flight 2.5
            # HELP flotilla_test_records_total records
            # TYPE flotilla_test_records_total counter
            flotilla_test_records_total{outcome="a\\"b\\\\c\\nd"} 1
            flotilla_test_records_total{outcome="ok"} 3

            """)
}

@Test func `the same name and labels are the same series`() {
    let metrics = Metrics()
    metrics.counter("flotilla_test_records_total", help: "records").add()
    metrics.counter("flotilla_test_records_total", help: "records").add()
    #expect(metrics.counter("flotilla_test_records_total", help: "records").value == 2)
}

@Test func `a label that grows with the data falls back to the series other`() {
    let metrics = Metrics()
    for index in 0..<(Metrics.seriesPerNameMax + 50) {
        metrics.counter("flotilla_test_records_total", help: "records", labels: ["app": "\(index)"]).add()
    }
    let other = metrics.counter("flotilla_test_records_total", help: "records", labels: ["app": "other"])
    #expect(other.value == 50)
    #expect(metrics.render().split(separator: "\n").count <= Metrics.seriesPerNameMax + 3)
}

@Test func `sums from many threads are exact`() async {
    let metrics = Metrics()
    let counter = metrics.counter("flotilla_test_records_total", help: "records")
    let gauge = metrics.gauge("flotilla_test_in_flight", help: "in flight")
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
            group.addTask {
                for _ in 0..<10_000 {
                    counter.add()
                    gauge.add(1)
                    gauge.add(-0.5)
                }
            }
        }
    }
    #expect(counter.value == 80_000)
    #expect(gauge.value == 40_000)
}
