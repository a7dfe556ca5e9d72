import StageSupport
import Testing

/// Tests of the pauses of a loop that starts over.
@Suite struct StartOverPauseTests {
    @Test func `after failed work the pause doubles up to a second`() {
        var pause = StartOverPause()
        let pauses = (0..<9).map { _ in pause.next(after: .failedWork) }
        #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 1000, 1000])
    }

    @Test func `while Kafka does not answer, it is asked ten times a second`() {
        var pause = StartOverPause()
        let pauses = (0..<6).map { _ in pause.next(after: .noAnswer) }
        #expect(pauses == [10, 20, 40, 80, 100, 100])
        // A long absence counts for the failures that follow.
        #expect(pause.next(after: .failedWork) == 640)
        #expect(pause.next(after: .noAnswer) == 100)
    }
}
