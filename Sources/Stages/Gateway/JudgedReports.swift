package import JSON
internal import LiveActivity

/// The result of checking a body of reports: the good reports as records of the topic, and the problems of
/// the others.
package struct JudgedReports: Sendable {
    package struct Refused: Sendable, Equatable {
        /// The report's index in the body, from 0.
        package let index: Int
        /// The problems. Their paths start at the report.
        package let problems: [JSONProblem]
        /// The exceeded limit. The report is valid, but its installation sends too many.
        package var limit: RateLimit?
    }

    /// A valid report of a tap. The answer says to which activity and schedule the tap is attributed.
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

    /// Keys and values in one contiguous buffer.
    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// Taps by their index in the body.
    private var tapsByIndex: [Int: Tap] = [:]
    package internal(set) var refused: [Refused] = []

    package var acceptedCount: Int { places.count }

    /// Taps of the accepted reports, in the body's order.
    package var taps: [(index: Int, tap: Tap)] {
        if tapsByIndex.isEmpty { return [] }
        return places.compactMap { place in tapsByIndex[place.index].map { (place.index, $0) } }
    }

    /// Adds an accepted report.
    ///
    /// - Parameter index: The report's index in the body.
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

    /// Moves accepted reports that exceed a limit to the refused ones, by their keys.
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

    /// Returns a copy of an accepted report's key and value.
    package func copy(_ index: Int) -> (key: [UInt8], value: [UInt8]) {
        let place = places[index]
        return (Array(bytes[place.start..<place.keyEnd]), Array(bytes[place.keyEnd..<place.end]))
    }
}
