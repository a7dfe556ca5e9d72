internal import FanOut
internal import Testing

struct PageSizeTests {
    @Test func `a slow page makes the next one smaller, a fast page makes it larger`() {
        var size = PageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.took(50, walking: 20, for: 10_000)
        #expect(size.rows == 12_500)
        size.took(150, walking: 60, for: 12_500)
        #expect(size.rows == 8_750)
    }

    @Test func `a transaction without a walk does not change the page size`() {
        var size = PageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.took(5_000, walking: 0, for: 0)
        #expect(size.rows == 10_000)
    }

    @Test func `a page that was not full does not let the next one grow`() {
        var size = PageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.took(10, walking: 5, for: 9_999)
        #expect(size.rows == 10_000)
    }

    @Test func `a slow commit does not make pages smaller`() {
        var size = PageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.took(400, walking: 20, for: 10_000)
        #expect(size.rows == 10_000)
        size.took(400, walking: 30, for: 10_000)
        #expect(size.rows == 7_000)
    }

    @Test func `half a page in half the time counts like a whole page`() {
        var size = PageSize(rowsAtStart: 10_000, millisecondsMax: 100)
        size.took(30, walking: 20, for: 5000, of: 0.5)
        #expect(size.rows == 12_500)
        size.took(60, walking: 40, for: 6250, of: 0.5)
        #expect(size.rows == 8_750)
    }
}
