internal import Lifecycle

/// A detector for a figure that has not changed for too long.
struct Stillness {
    private let limitMilliseconds: Int
    private var last: Int?
    private var since = Instant.now()

    init(limitMilliseconds: Int) { self.limitMilliseconds = limitMilliseconds }

    mutating func sees(_ figure: Int) {
        if figure != last { since = .now() }
        last = figure
    }

    var isOver: Bool { Instant.now() >= since.advanced(byMilliseconds: limitMilliseconds) }
}
