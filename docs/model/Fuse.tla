-------------------------------- MODULE Fuse --------------------------------
(* The fuse: controllers, Kafka, the hooks in the drivers, and everything that may go wrong around them.        *)
(* README.md explains what is modelled, what is abstracted, and each invariant. "Code:" names what a step       *)
(* stands for: Python files of native_analytics/.../fuse_controller, Java files of the plugin's package hook.    *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Controllers,    \* instances of the fuse controller that may run at the same time
  Runs,           \* application attempts under one application id, each with the hook of its driver
  Removed,        \* gates that this check removes, to show that each is needed
  Faults,         \* faults of the environment that this check allows
  Conditions,     \* conditions of the world that may begin and end
  Shapes,         \* forged records that this check allows
  NeedsApproval,  \* whether the policy requires an approval
  Budget,         \* acts that the controller may send in the modelled time, which is shorter than an hour
  HookBudget,     \* acts that one hook may perform in the modelled time
  MaxTime, MaxStarts, MaxChanges, MaxForged

(* Times are in ticks; only their order matters. The shares are those of the code: a clock error that the        *)
(* controller tolerates is below the hook's tolerance, and both are below a signal's life.                        *)
Life == 3            \* AdmissionGates.MAX_LIFE_MS
CoolDown == 3        \* fuse.py Times.cool_down_ms
HookTolerance == 1   \* AdmissionGates.MAX_SKEW_MS
Tolerance == 0       \* gates.py MAX_CLOCK_SKEW_MS
MaxAge == 1          \* finding_registry.py MAX_AGE_MS
MaxBehind == 1       \* kafka.py BEHIND_SECONDS
MaxAgreed == 1       \* probes.py AGREED_MS
MaxPause == 1        \* the longest time between the hook's read of the controls and its act
HoldDelay == MaxPause
SilenceDelay == Life + HookTolerance

AllGates == {
  "controller.read_to_end", "controller.fencing", "controller.atomic", "controller.caught_up", "controller.clock",
  "controller.policy_valid", "controller.finding", "controller.view", "controller.completeness",
  "controller.severity", "controller.fuse", "controller.hold", "controller.silence", "controller.big_picture",
  "controller.budget", "controller.armed", "controller.approval", "controller.approval_once", "controller.mode",
  "controller.issued", "controller.recheck", "controller.contradiction",
  "hook.signature", "hook.revocation", "hook.ack", "hook.identity", "hook.timestamp", "hook.clock", "hook.lifetime",
  "hook.epoch", "hook.generation", "hook.policy", "hook.mode", "hook.hold", "hook.armed", "hook.approval",
  "hook.approval_once", "hook.budget", "hook.shared_driver", "hook.blind", "hook.predicate", "hook.probe",
  "hook.pause", "hook.quiet" }

ASSUME Removed \subseteq AllGates
On(gate) == gate \notin Removed

(* Where a condition can be observed. *)
InControls == {"held", "disarmed", "revoked", "controls_away"}   \* the topic controls
InDriver == {"own_hold", "owner_off", "healthy", "blind", "shared"} \* read by the hook at the act
InTopics == {"held", "disarmed", "other_view", "incomplete", "minor", "big_picture"} \* read by the controller
AtOnce == {"silenced", "silences_unknown", "shadow", "invalid_policy"} \* read by the controller at a decision
ASSUME Conditions \subseteq InControls \cup InDriver \cup InTopics \cup AtOnce

VARIABLES
  now,        \* the broker's time
  audit,      \* the topic audit: committed records
  producer,   \* the number of the newest transactional producer; Kafka fences older ones
  ctl,        \* the memory of each controller
  skew,       \* each controller's clock minus the broker's
  signals,    \* the topic signals; a hook may miss a record, read it late, again, or in another order
  hook,       \* the memory of the hook of each run
  world,      \* the conditions that hold now
  since,      \* when each condition began
  finding,    \* the time that the newest finding about each run carries
  approvals,  \* the runs whose stop a person approved
  changes, forged,
  told,       \* receipts that decide about the pause after a refusal: forged refusals, and when the hook agreed
  despite     \* history: pairs of who acted ("controller" or "hook") and what should have prevented it

vars == <<now, audit, producer, ctl, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

None == [run |-> "none"]
NoTime == -1
Down == [pc |-> "down", number |-> 0, epoch |-> 0, read |-> 0, tip |-> 0, top |-> 0, sent |-> {},
         seen |-> {}, seenAt |-> 0, measured |-> 0, next |-> None]
Idle == [pc |-> "idle", signal |-> None, base |-> 0, controls |-> {}, controlsAt |-> 0]
NewHook == [work |-> Idle, epoch |-> 0, generation |-> 0, acted |-> {}, refused |-> {}, stops |-> 0, used |-> FALSE,
            open |-> FALSE]

Init ==
  /\ now = 0 /\ audit = <<>> /\ producer = 0 /\ signals = {} /\ world = {} /\ approvals = {}
  /\ changes = 0 /\ forged = 0 /\ despite = {}
  /\ told = [refused |-> {}, agreed |-> [r \in Runs |-> NoTime]]
  /\ ctl = [c \in Controllers |-> Down]
  /\ skew = [c \in Controllers |-> 0]
  /\ hook = [r \in Runs |-> NewHook]
  /\ since = [k \in Conditions |-> 0]
  /\ finding = [r \in Runs |-> 0]

Max(a, b) == IF a > b THEN a ELSE b
Abs(a) == IF a < 0 THEN -a ELSE a
(* Conditions of a set that have held for longer than a delay. *)
Older(set, delay) == {k \in world \cap set : now - since[k] > delay}

--------------------------------------------------------------------------------
(* The environment *)

Tick ==
  /\ now < MaxTime
  /\ now' = now + 1
  /\ UNCHANGED <<audit, producer, ctl, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* A hold, a silence, a switch of mode, or a fact about the run begins or ends. *)
Change(k) ==
  /\ changes < MaxChanges
  /\ changes' = changes + 1
  /\ world' = IF k \in world THEN world \ {k} ELSE world \cup {k}
  /\ since' = [since EXCEPT ![k] = IF k \in world THEN 0 ELSE now]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, finding, approvals, forged, told, despite>>

(* Detection may be wrong about the run and about the time. *)
Detect(r) ==
  /\ "stale" \in Faults
  /\ finding' = [finding EXCEPT ![r] = now]
  /\ finding' # finding
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, approvals, changes, forged, told, despite>>

DetectInFuture(r) ==
  /\ "future" \in Faults
  /\ finding' = [finding EXCEPT ![r] = now + 2]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, approvals, changes, forged, told, despite>>

StepClock(c, by) ==
  /\ "clock" \in Faults
  /\ skew[c] # by
  /\ skew' = [skew EXCEPT ![c] = by]
  /\ UNCHANGED <<now, audit, producer, ctl, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* Code: `sparkfuse fuse approve` writes to the topic approvals. *)
Approve(r) ==
  /\ NeedsApproval
  /\ r \notin approvals
  /\ approvals' = approvals \cup {r}
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, finding, changes, forged, told, despite>>

(* A record that no controller wrote. "signature": without a key. The others: with a stolen key.                  *)
(* "valid" is the best that a thief can do, with a copy of the approval if there is one.                          *)
Forgery(shape, r) ==
  [by |-> IF shape = "signature" THEN "forger" ELSE "thief", shape |-> shape, run |-> r,
   epoch |-> IF shape = "old_epoch" THEN 0 ELSE 5, generation |-> 50 + forged,
   issued |-> IF shape = "timestamp" THEN now + 3 ELSE now,
   stamp |-> IF shape = "timestamp" THEN now + 3 ELSE now,
   life |-> IF shape = "long_life" THEN Life + 1 ELSE Life,
   decided |-> now, appended |-> now, found |-> now,
   approval |-> IF shape \notin {"no_approval", "foreign_approval"} /\ r \in approvals THEN {r}
                ELSE IF shape = "foreign_approval" THEN {"another target"} ELSE {}]

Forge(shape, r) ==
  /\ forged < MaxForged
  /\ forged' = forged + 1
  /\ signals' = signals \cup {Forgery(shape, r)}
  /\ UNCHANGED <<now, audit, producer, ctl, skew, hook, world, since, finding, approvals, changes, told, despite>>

(* A valid message is written to the topic again, by a mirror or by an attacker: the broker stamps it anew. *)
Replay(s) ==
  /\ "replay" \in Faults
  /\ forged < MaxForged
  /\ s.by = "controller"
  /\ forged' = forged + 1
  /\ signals' = signals \cup {[s EXCEPT !.appended = now, !.stamp = now, !.by = "replay"]}
  /\ UNCHANGED <<now, audit, producer, ctl, skew, hook, world, since, finding, approvals, changes, told, despite>>

(* Anyone may write receipts. A forged one claims that the hook refused a signal, or that it would act now.        *)
ForgeRefusal(s) ==
  /\ "receipts" \in Faults
  /\ forged < MaxForged
  /\ s.by = "controller"
  /\ forged' = forged + 1
  /\ told' = [told EXCEPT !.refused = @ \cup {<<s.epoch, s.generation>>}]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, finding, approvals, changes, despite>>

ForgeAgreement(r) ==
  /\ "receipts" \in Faults
  /\ forged < MaxForged
  /\ forged' = forged + 1
  /\ told' = [told EXCEPT !.agreed[r] = now]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, finding, approvals, changes, despite>>

--------------------------------------------------------------------------------
(* The controller *)

(* Code: kafka.py Outputs.__init__: init_transactions fences every older producer. *)
Start(c) ==
  /\ ctl[c].pc = "down"
  /\ producer < MaxStarts
  /\ producer' = producer + 1
  /\ ctl' = [ctl EXCEPT ![c] = [Down EXCEPT !.pc = "reading", !.number = producer + 1]]
  /\ UNCHANGED <<now, audit, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* What a controller remembers about a signal that it or an earlier controller sent. *)
Remembered(record) == [run |-> record.run, at |-> record.at, id |-> <<record.epoch, record.sequence>>]

(* Code: audit_log.py AuditLog.read: budgets, fuses and used approvals are rebuilt record by record. *)
ReadAudit(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "reading"
  /\ m.read < Len(audit)
  /\ LET record == audit[m.read + 1] IN
     ctl' = [ctl EXCEPT ![c] =
       [m EXCEPT !.read = @ + 1, !.tip = Max(@, record.sequence), !.top = Max(@, record.epoch),
                 !.sent = IF record.step = "sent" THEN @ \cup {Remembered(record)} ELSE @]]
  /\ UNCHANGED <<now, audit, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* Code: kafka.py Outputs.write: the broker refuses the transaction of a fenced producer. *)
MayWrite(c) == On("controller.fencing") => ctl[c].number = producer

(* Code: service.py _catch_up, then audit_log.py AuditLog.start: the record `started` begins a new epoch. *)
Begin(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "reading"
  /\ On("controller.read_to_end") => m.read = Len(audit)
  /\ MayWrite(c)
  /\ audit' = Append(audit, [step |-> "started", epoch |-> m.top + 1, sequence |-> m.tip + 1])
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.pc = "ready", !.epoch = m.top + 1, !.tip = @ + 1,
                                         !.seen = world \cap InTopics, !.seenAt = now, !.measured = skew[c]]]
  /\ UNCHANGED <<now, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* Code: kafka.py Inputs.read: all partitions were read to their ends. *)
ReadTopics(c) ==
  LET m == ctl[c] IN
  /\ m.pc = "ready"
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.seen = world \cap InTopics, !.seenAt = now]]
  /\ ctl' # ctl
  /\ UNCHANGED <<now, audit, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

OwnTime(c) == now + skew[c]
FindingTime(r) == IF Faults \cap {"stale", "future"} = {} THEN now ELSE finding[r]
(* The approval of a run that the controller can attach: it is not used in the audit log that it knows. *)
Attached(m, r) ==
  IF r \in approvals /\ (On("controller.approval_once") => ~\E sent \in m.sent : sent.run = r) THEN {r} ELSE {}

(* Code: outcomes.py and fuse.py refuse, settle: a receipt, which may be forged, says that the hook refused a       *)
(* signal. It counts for nothing if the hook has reported `requested`, which it does before it acts.               *)
Refused(sent) ==
  /\ sent.id \in hook[sent.run].refused \cup told.refused
  /\ On("controller.contradiction") => sent.id \notin hook[sent.run].acted

(* The signals about a run whose cool-down is not over. *)
Recent(m, r) == {sent \in m.sent : sent.run = r /\ now - sent.at < CoolDown}

(* Code: controller.py _act, step `rechecked`: a probe asks the hook, which answers by the same gates as for an act. *)
Ask(c, r) ==
  /\ ctl[c].pc = "ready"
  /\ \E sent \in Recent(ctl[c], r) : Refused(sent)
  /\ world \cap (InDriver \cup {"held", "revoked", "controls_away"}) = {}
  /\ told.agreed[r] # now
  /\ told' = [told EXCEPT !.agreed[r] = now]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, hook, world, since, finding, approvals, changes, forged,
                 despite>>

(* Code: probes.py ProbeBook.agreed. *)
Agreed(r) == told.agreed[r] # NoTime /\ now - told.agreed[r] <= MaxAgreed

(* Code: gates.py GATES, and controller.py _plan and _approved. *)
ControllerAgrees(c, r) ==
  LET m == ctl[c]
      age == OwnTime(c) - FindingTime(r)
      absent(gate, set, k) == On(gate) => k \notin set
  IN
  /\ On("controller.caught_up") => now - m.seenAt <= MaxBehind
  /\ On("controller.clock") => Abs(m.measured) <= Tolerance
  /\ absent("controller.policy_valid", world, "invalid_policy")
  /\ On("controller.finding") => age <= MaxAge /\ age >= -Tolerance
  /\ absent("controller.view", m.seen, "other_view")
  /\ absent("controller.completeness", m.seen, "incomplete")
  /\ absent("controller.severity", m.seen, "minor")
  /\ On("controller.fuse") => \A sent \in Recent(m, r) : Refused(sent)
  /\ On("controller.recheck") /\ (\E sent \in Recent(m, r) : Refused(sent)) => Agreed(r)
  /\ absent("controller.hold", m.seen, "held")
  /\ On("controller.silence") => world \cap {"silenced", "silences_unknown"} = {}
  /\ absent("controller.big_picture", m.seen, "big_picture")
  /\ On("controller.budget") => Cardinality(m.sent) < Budget
  /\ absent("controller.armed", m.seen, "disarmed")
  /\ NeedsApproval /\ On("controller.approval") => Attached(m, r) # {}
  /\ absent("controller.mode", world, "shadow")

(* What should have prevented this decision, by the truth and not by what the controller knows. *)
WrongDecision(c, r) ==
  (world \cap AtOnce) \cup Older(InTopics, MaxBehind)
  \cup (IF skew[c] = ctl[c].measured /\ now - FindingTime(r) > MaxAge + Tolerance THEN {"stale"} ELSE {})
  \cup (IF skew[c] = ctl[c].measured /\ FindingTime(r) - now > Tolerance THEN {"future"} ELSE {})
  \cup (IF NeedsApproval /\ r \notin approvals THEN {"unapproved"} ELSE {})
  \cup (IF (\E sent \in Recent(ctl[c], r) : Refused(sent)) /\ ~Agreed(r) THEN {"unasked"} ELSE {})
  \cup (IF \E sent \in Recent(ctl[c], r) : sent.id \in hook[r].acted THEN {"in_effect"} ELSE {})

(* Code: controller.py evaluate and _act. The process may pause between this step and the next.                  *)
(* Gate "controller.issued": a signal carries the time of this step, so the hook's clock gate bounds the pause.   *)
Decide(c, r) ==
  LET m == ctl[c] IN
  /\ m.pc = "ready"
  /\ ControllerAgrees(c, r)
  /\ ctl' = [ctl EXCEPT ![c].pc = "decided", ![c].next =
       [by |-> "controller", shape |-> "valid", run |-> r, epoch |-> m.epoch, generation |-> m.tip + 1,
        issued |-> OwnTime(c), stamp |-> 0, life |-> Life, decided |-> now, appended |-> 0,
        found |-> FindingTime(r), approval |-> Attached(m, r)]]
  /\ despite' = despite \cup ({"controller"} \X WrongDecision(c, r))
  /\ UNCHANGED <<now, audit, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told>>

Announcement(s) ==
  [step |-> "sent", epoch |-> s.epoch, sequence |-> s.generation, run |-> s.run, at |-> s.appended]

(* Code: kafka.py Outputs.write: one transaction with the audit record and the signal. Kafka appends both or none. *)
Commit(c) ==
  LET m == ctl[c]
      issued == IF On("controller.issued") THEN m.next.issued ELSE OwnTime(c)
      s == [m.next EXCEPT !.stamp = now, !.appended = now, !.issued = issued]
  IN
  /\ m.pc = "decided"
  /\ MayWrite(c)
  /\ signals' = signals \cup {s}
  /\ told' = [told EXCEPT !.agreed[s.run] = NoTime]
  /\ IF On("controller.atomic")
       THEN /\ audit' = Append(audit, Announcement(s))
            /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.pc = "ready", !.next = None, !.tip = s.generation,
                         !.sent = @ \cup {Remembered(Announcement(s))}, !.measured = skew[c]]]
       ELSE /\ ctl' = [ctl EXCEPT ![c].pc = "half"]
            /\ UNCHANGED audit
  /\ UNCHANGED <<now, producer, skew, hook, world, since, finding, approvals, changes, forged, despite>>

(* Only without the gate "controller.atomic": the audit record follows the signal in a second write. *)
Announce(c) ==
  LET m == ctl[c] s == m.next IN
  /\ m.pc = "half"
  /\ MayWrite(c)
  /\ audit' = Append(audit, Announcement(s))
  /\ ctl' = [ctl EXCEPT ![c] = [m EXCEPT !.pc = "ready", !.next = None, !.tip = s.generation,
               !.sent = @ \cup {Remembered(Announcement(s))}, !.measured = skew[c]]]
  /\ UNCHANGED <<now, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

(* At any step: a crash, or the exit of a fenced controller, or an aborted transaction. Code: FencedError. *)
Crash(c) ==
  /\ ctl[c].pc # "down"
  /\ ctl' = [ctl EXCEPT ![c] = Down]
  /\ UNCHANGED <<now, audit, producer, skew, signals, hook, world, since, finding, approvals, changes, forged, told, despite>>

--------------------------------------------------------------------------------
(* The hook *)

(* Code: Hook.receive and Hook.acknowledged: a receipt is written, and its acknowledgement is the broker's time. *)
Receive(h, s) ==
  /\ hook[h].work.pc = "idle"
  /\ hook' = [hook EXCEPT ![h].work = [Idle EXCEPT !.pc = "received", !.signal = s]]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, world, since, finding, approvals, changes, forged, told, despite>>

(* Without an acknowledgement nothing is done. Without the gate the hook takes the record's time for the time now. *)
Unacknowledged(h, s) ==
  /\ "no_ack" \in Faults
  /\ ~On("hook.ack")
  /\ hook[h].work.pc = "idle"
  /\ hook' = [hook EXCEPT ![h].work = [Idle EXCEPT !.pc = "received", !.signal = s, !.base = s.stamp - now]]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, world, since, finding, approvals, changes, forged, told, despite>>

(* Code: Controls.refresh: reads the topic controls to its end; if that fails, the snapshot says so. *)
ReadControls(h) ==
  /\ hook[h].work.pc = "received"
  /\ hook' = [hook EXCEPT ![h].work.pc = "read", ![h].work.controls = world \cap InControls, ![h].work.controlsAt = now]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, world, since, finding, approvals, changes, forged, told, despite>>

(* Code: AdmissionGates. A signal that passes them uses up its generation, also if a later gate refuses it. *)
Admitted(h, s) ==
  LET k == hook[h] clock == now + k.work.base IN
  /\ On("hook.signature") => s.shape \notin {"signature", "purpose"}
  /\ On("hook.revocation") => (s.by # "forger" => "revoked" \notin k.work.controls)
  /\ On("hook.identity") => s.run = h
  /\ On("hook.timestamp") => s.shape # "timestamp"
  /\ On("hook.clock") => Abs(s.issued - s.stamp) <= HookTolerance
  /\ On("hook.lifetime") => s.life <= Life /\ clock < s.stamp + s.life
  /\ On("hook.epoch") => s.epoch >= k.epoch
  /\ On("hook.generation") => s.generation > k.generation

(* Code: PermissionGates and EvidenceGates; the counters are read in the same step as the act. *)
Permitted(h, s) ==
  LET k == hook[h] IN
  /\ On("hook.policy") => s.shape # "policy"
  /\ On("hook.mode") => "owner_off" \notin world
  /\ On("hook.hold") => "own_hold" \notin world /\ k.work.controls \cap {"held", "controls_away"} = {}
  /\ On("hook.armed") => "disarmed" \notin k.work.controls
  /\ NeedsApproval /\ On("hook.approval") => s.approval = {h}
  /\ NeedsApproval /\ On("hook.approval_once") => ~k.used
  /\ On("hook.budget") => k.stops < HookBudget
  /\ On("hook.shared_driver") => "shared" \notin world
  /\ On("hook.blind") => "blind" \notin world
  /\ On("hook.predicate") => "healthy" \notin world
  /\ On("hook.probe") => s.shape # "probe"
  /\ On("hook.pause") => now - k.work.controlsAt <= MaxPause

(* What should have prevented this act, by the truth and not by what the hook knows. *)
WrongAct(h, s) ==
  LET k == hook[h] label(name, wrong) == IF wrong THEN {name} ELSE {} IN
  (world \cap InDriver) \cup Older(InControls, HoldDelay)
  \cup (IF s.by \in {"controller", "replay"} THEN Older({"silenced", "silences_unknown"}, SilenceDelay) ELSE {})
  \cup label("other_run", s.run # h)
  \cup label("unsigned", s.shape \in {"signature", "purpose"})
  \cup label("other_policy", s.shape = "policy")
  \cup label("probe", s.shape = "probe")
  \cup label("expired", now - s.appended >= Life)
  \cup label("revived", s.by = "replay" /\ now - s.decided >= Life + HookTolerance)
  \cup label("stale", s.by = "controller" /\ s.appended - s.found > MaxAge + HookTolerance)
  \cup label("lower_epoch", s.epoch < k.epoch)
  \cup label("twice", <<s.epoch, s.generation>> \in k.acted)
  \cup label("unapproved", NeedsApproval /\ s.approval # {h})
  \cup label("approval_reused", NeedsApproval /\ k.used)
  \cup label("hook_budget", k.stops >= HookBudget)

(* Code: Gates.evaluate and Hook.act. Removed "hook.quiet": the state opens for job code on a hold, as it once did. *)
Evaluate(h) ==
  LET k == hook[h] s == k.work.signal admitted == Admitted(h, s) acts == admitted /\ Permitted(h, s) IN
  /\ k.work.pc = "read"
  /\ hook' = [hook EXCEPT ![h] =
       [k EXCEPT !.work = Idle,
                 !.epoch = IF admitted THEN Max(@, s.epoch) ELSE @,
                 !.generation = IF admitted THEN Max(@, s.generation) ELSE @,
                 !.acted = IF acts THEN @ \cup {<<s.epoch, s.generation>>} ELSE @,
                 !.refused = IF admitted /\ ~acts THEN @ \cup {<<s.epoch, s.generation>>} ELSE @,
                 !.stops = IF acts THEN @ + 1 ELSE @,
                 !.used = @ \/ (acts /\ h \in s.approval),
                 !.open = @ \/ acts \/ (admitted /\ ~On("hook.quiet"))]]
  /\ despite' = IF acts THEN despite \cup ({"hook"} \X WrongAct(h, s)) ELSE despite
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, world, since, finding, approvals, changes, forged, told>>

(* At any step: an exception, a timeout, or a broker that does not answer. The job continues. Code: FaultCounter. *)
HookFails(h) ==
  /\ hook[h].work.pc # "idle"
  /\ hook' = [hook EXCEPT ![h].work = Idle]
  /\ UNCHANGED <<now, audit, producer, ctl, skew, signals, world, since, finding, approvals, changes, forged, told, despite>>

SomeReplay == \E s \in signals : Replay(s) \/ ForgeRefusal(s)
SomeSignal(h) == \E s \in signals : Receive(h, s) \/ Unacknowledged(h, s)

Next ==
  \/ Tick
  \/ SomeReplay
  \/ \E k \in Conditions : Change(k)
  \/ \E shape \in Shapes, r \in Runs : Forge(shape, r)
  \/ \E c \in Controllers : Start(c)
  \/ \E c \in Controllers : ReadAudit(c)
  \/ \E c \in Controllers : Begin(c)
  \/ \E c \in Controllers : ReadTopics(c)
  \/ \E r \in Runs : ForgeAgreement(r)
  \/ \E c \in Controllers, r \in Runs : Ask(c, r)
  \/ \E c \in Controllers, r \in Runs : Decide(c, r)
  \/ \E c \in Controllers : Commit(c)
  \/ \E c \in Controllers : Announce(c)
  \/ \E c \in Controllers : Crash(c)
  \/ \E c \in Controllers, by \in {0, -1, -2} \cup (IF "clock_ahead" \in Faults THEN {1} ELSE {}) : StepClock(c, by)
  \/ \E r \in Runs : Detect(r)
  \/ \E r \in Runs : DetectInFuture(r)
  \/ \E r \in Runs : Approve(r)
  \/ \E r \in Runs : SomeSignal(r)
  \/ \E r \in Runs : ReadControls(r)
  \/ \E r \in Runs : Evaluate(r)
  \/ \E r \in Runs : HookFails(r)

Spec == Init /\ [][Next]_vars

--------------------------------------------------------------------------------
(* Invariants *)

Never(who, labels) == \A label \in labels : <<who, label>> \notin despite
Sent == {s \in signals : s.by = "controller"}

NoActOnOtherRun == Never("hook", {"other_run"})
NoActByStaleEpoch == Never("hook", {"lower_epoch"})
EpochsInOrder ==
  \A i, j \in 1..Len(audit) : i < j => audit[i].epoch <= audit[j].epoch /\ audit[i].sequence < audit[j].sequence
BudgetKept == Cardinality(Sent) <= Budget
HookBudgetKept == Never("hook", {"hook_budget"})
HoldRespected == Never("hook", {"held", "own_hold", "controls_away"}) /\ Never("controller", {"held"})
SilenceRespected ==
  Never("controller", {"silenced", "silences_unknown"}) /\ Never("hook", {"silenced", "silences_unknown"})
HookAgreed == Never("hook", {"healthy", "blind", "shared"})
ApprovalRequired == Never("hook", {"unapproved"}) /\ Never("controller", {"unapproved"})
ApprovalUsedOnce ==
  /\ Never("hook", {"approval_reused"})
  /\ \A s, t \in Sent : s.approval \cap t.approval # {} => s = t
NoFaultStopsJob == \A r \in Runs : hook[r].open => hook[r].stops > 0
OnlyTrustedSignals == Never("hook", {"unsigned", "revoked", "other_policy", "probe"})
ActsOnce == Never("hook", {"twice"})
RefusedStaysRefused == \A r \in Runs : hook[r].acted \cap hook[r].refused = {}
ActsInTime == Never("hook", {"expired", "revived"})
EvidenceFresh == Never("hook", {"stale"}) /\ Never("controller", {"stale", "future"})
EvidenceComplete == Never("controller", {"other_view", "incomplete", "minor"})
BigPictureStops == Never("controller", {"big_picture"})
ArmedAndAllowed ==
  Never("hook", {"disarmed", "owner_off"}) /\ Never("controller", {"disarmed", "shadow", "invalid_policy"})
(* The cool-down counts by the broker's time of the announcement, so a clock that steps does not shorten it.      *)
(* A signal that the hook refused is not in flight. Whoever forges such a refusal, and the hook's answer, can cause *)
(* one more signal, which counts towards the budget and which the hook evaluates like any other.                   *)
OneActInFlight ==
  \A s, t \in Sent : s.run = t.run /\ s # t =>
    \/ Abs(s.decided - t.decided) >= CoolDown
    \/ {<<s.epoch, s.generation>>, <<t.epoch, t.generation>>} \cap (hook[s.run].refused \cup told.refused) # {}
AskedAgain == Never("controller", {"unasked"})
EffectAwaited == Never("controller", {"in_effect"})

(* Not an invariant: the check expects a violation, which shows that the fuse can act at all. *)
FuseNeverActs == \A r \in Runs : hook[r].stops = 0

(* Not an invariant either: its violation shows that a refusal shortens the pause between two signals.            *)
CoolDownAlways == \A s, t \in Sent : s.run = t.run /\ s # t => Abs(s.decided - t.decided) >= CoolDown

Symmetry == Permutations(Controllers) \cup Permutations(Runs)
================================================================================
