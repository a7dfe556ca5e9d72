internal import Glibc
internal import Stages

final class PlannerLoop: StageLoop {
    private let state: LoopState

    init(_ settings: FanOutSettings, in environment: StageEnvironment, state: LoopState) {
        self.state = state
    }

    func run() {
        state.setObstacles([])
        while !state.mustStop { usleep(20_000) }
    }
}
