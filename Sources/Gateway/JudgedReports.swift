package import JSON
internal import LiveActivity

/// What a body of reports is worth: those that are good, as records of the topic, and what is wrong with
/// the others.
package struct JudgedReports: Sendable {
    package struct Refused: Sendable, Equatable {
        /// The report's place in the body, from 0.
        package let index: Int
        /// Paths are those within the report.
        package let problems: [JSONProblem]
        /// Nothing is wrong with it; there are too many.
        package var limit: RateLimit?
    }

    /// A good report of a tap: its answer says what it was attributed to.
    package struct Tap: Sendable, Equatable {
        package let activity: String?
        package let scheduleID: String?
        package let scheduleName: String?

        init?(_ report: Report) {
            guard report.kind == .tap else { return nil }
            (activity, scheduleID, scheduleName) = (report.activity, report.scheduleID, report.scheduleName)
        }
    }

    private struct Place {
        let index: Int
        let start: Int
        let keyEnd: Int
        let end: Int
    }

    /// Keys and values, one after the other in one piece of memory.
    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// By their places in the body.
    private var tapsByIndex: [Int: Tap] = [:]
    package internal(set) var refused: [Refused] = []

    package var acceptedCount: Int { places.count }

    /// Of those that are good, in the body's order.
    package var taps: [(index: Int, tap: Tap)] {
        if tapsByIndex.isEmpty { return [] }
        return places.compactMap { place in tapsByIndex[place.index].map { (place.index, $0) } }
    }

    /// - Parameter index: the report's place in the body.
    mutating func accept(_ index: Int, key: [UInt8], value: borrowing JSONWriter, tap: Tap?) {
        if let tap { tapsByIndex[index] = tap }
        let start = bytes.count
        bytes += key
        let keyEnd = bytes.count
        unsafe value.withBytes { unsafe bytes.append(contentsOf: $0) }
        places.append(Place(index: index, start: start, keyEnd: keyEnd, end: bytes.count))
    }

    mutating func append(_ other: JudgedReports) {
        let offset = bytes.count
        bytes += other.bytes
        tapsByIndex.merge(other.tapsByIndex) { $1 }
        places += other.places.map {
            Place(
                index: $0.index, start: $0.start + offset, keyEnd: $0.keyEnd + offset, end: $0.end + offset)
        }
    }

    /// Takes out the good reports that are too many, by their keys.
    package mutating func refuse(beyond limit: RateLimit, where isBeyond: (Span<UInt8>) -> Bool) {
        let good = places
        places = []
        for place in good {
            if isBeyond(bytes.span.extracting(place.start..<place.keyEnd)) {
                refused.append(Refused(index: place.index, problems: [], limit: limit))
            } else {
                places.append(place)
            }
        }
        if places.count < good.count { refused.sort { $0.index < $1.index } }
    }

    /// Lends the key and value of an accepted report.
    package func withRecord<Result>(
        _ index: Int, _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Result
    ) -> Result {
        let place = places[index]
        let span = bytes.span
        return body(
            span.extracting(place.start..<place.keyEnd), span.extracting(place.keyEnd..<place.end))
    }

    /// A copy of an accepted report's key and value.
    package func copy(_ index: Int) -> (key: [UInt8], value: [UInt8]) {
        let place = places[index]
        return (Array(bytes[place.start..<place.keyEnd]), Array(bytes[place.keyEnd..<place.end]))
    }
}
