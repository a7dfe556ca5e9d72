internal import FanOut
internal import Testing

/// Proves that pages adapt to the time that walking the rows takes.
struct AdaptivePageSizeTests {
    @Test func `a slow page makes the next one smaller, a fast page makes it larger`() {
        var size = AdaptivePageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.adapt(toMilliseconds: 50, walking: 20, tokens: 10_000)
        #expect(size.rows == 12_500)
        size.adapt(toMilliseconds: 150, walking: 60, tokens: 12_500)
        #expect(size.rows == 8_750)
    }

    @Test func `a transaction without a walk does not change the page size`() {
        var size = AdaptivePageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.adapt(toMilliseconds: 5_000, walking: 0, tokens: 0)
        #expect(size.rows == 10_000)
    }

    @Test func `a page that was not full does not let the next one grow`() {
        var size = AdaptivePageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.adapt(toMilliseconds: 10, walking: 5, tokens: 9_999)
        #expect(size.rows == 10_000)
    }

    @Test func `a slow commit does not make pages smaller`() {
        var size = AdaptivePageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.adapt(toMilliseconds: 400, walking: 20, tokens: 10_000)
        #expect(size.rows == 10_000)
        size.adapt(toMilliseconds: 400, walking: 30, tokens: 10_000)
        #expect(size.rows == 7_000)
    }

    @Test func `half a page in half the time counts like a whole page`() {
        var size = AdaptivePageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.adapt(toMilliseconds: 30, walking: 20, tokens: 5000, share: 0.5)
        #expect(size.rows == 12_500)
        size.adapt(toMilliseconds: 60, walking: 40, tokens: 6250, share: 0.5)
        #expect(size.rows == 8_750)
    }
}
