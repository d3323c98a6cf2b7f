//! Performance of a memory channel in closed form. Rates in rows per clock, times in clocks of the devices;
//! docs/blocks/timing.md derives the forms.

use timing::platform::Memory;

/// Closed forms for a channel.
pub struct Forms<'a>(pub &'a Memory);

impl Forms<'_> {
    fn columns(&self) -> f64 {
        f64::from(self.0.timing.columns_per_row)
    }

    /// Duration of a refresh stop: precharge, REF, activate.
    fn stop(&self) -> f64 {
        let t = &self.0.timing;
        (t.rp + t.rfc + t.rcd) as f64
    }

    /// Share of time outside refreshes.
    fn up(&self) -> f64 {
        1.0 - self.stop() / self.0.timing.refi as f64
    }

    /// Without refreshes: column commands at the short distance.
    pub fn sequential_peak(&self) -> f64 {
        1.0 / (self.columns() * self.0.timing.ccd_s as f64)
    }

    pub fn sequential(&self) -> f64 {
        self.up() * self.sequential_peak()
    }

    /// Cycle time of a bank if each access opens a row.
    fn bank_cycle(&self, write: bool) -> f64 {
        let t = &self.0.timing;
        let more = u64::from(t.columns_per_row - 1) * t.ccd_l;
        let close = match write {
            false => t.rtp,
            true => t.cwl + t.burst + t.wr,
        };
        (t.ras + t.rp).max(t.rcd + more + close + t.rp) as f64
    }

    pub fn one_bank(&self, write: bool) -> f64 {
        self.up() / self.bank_cycle(write)
    }

    /// The columns of a DRAM row at the long distance, then the change to the next row.
    pub fn one_group(&self) -> f64 {
        let t = &self.0.timing;
        let rows = f64::from(self.0.address.page_bytes) / 64.0;
        let clocks = (rows * self.columns() - 1.0) * t.ccd_l as f64 + (t.rtp + t.rp + t.rcd) as f64;
        self.up() * rows / clocks
    }

    /// Without refreshes: one activate per row, four per window.
    pub fn activation_peak(&self) -> f64 {
        let t = &self.0.timing;
        4.0 / t.faw.max(4 * t.rrd_s) as f64
    }

    pub fn all_banks(&self) -> f64 {
        self.up() * self.activation_peak()
    }

    /// A closed queueing network, solved by mean value analysis: as many customers as reads may be
    /// outstanding; the activation window and the banks are stations, the way there and back a delay.
    pub fn random(&self) -> f64 {
        let t = &self.0.timing;
        let banks = self.0.address.banks() as usize;
        let mut demands = vec![self.bank_cycle(false) / banks as f64; banks];
        demands.push(1.0 / self.activation_peak());
        let delay = self.way() + (t.cl + t.burst) as f64;
        let mut queues = vec![0.0; demands.len()];
        let mut rate = 0.0;
        for customers in 1..=self.0.controller.read_accesses {
            let stays: Vec<f64> = demands
                .iter()
                .zip(&queues)
                .map(|(demand, queue)| demand * (1.0 + queue))
                .collect();
            rate = f64::from(customers) / (delay + stays.iter().sum::<f64>());
            queues = stays.iter().map(|stay| rate * stay).collect();
        }
        self.up() * rate
    }

    /// A batch of reads and a batch of writes, with two bus turnarounds.
    pub fn mixed(&self) -> f64 {
        let t = &self.0.timing;
        let batch = f64::from(self.0.controller.drain_batch);
        let to_write = t.cl + t.burst + t.rtw_gap - t.cwl;
        let to_read = t.cwl + t.burst + t.wtr_s;
        let columns = 2.0 * (batch * self.columns() - 1.0) * t.ccd_s as f64;
        self.up() * 2.0 * batch / (columns + (to_write + to_read) as f64)
    }

    /// Latency of controller and clock crossing, in both directions.
    fn way(&self) -> f64 {
        let c = &self.0.controller;
        (c.request_ps + c.response_ps).get() as f64 / self.0.timing.clock_ps.get() as f64
    }

    /// An isolated read of an open row, with half a clock until the next edge.
    fn idle_hit(&self) -> f64 {
        let t = &self.0.timing;
        let more = u64::from(t.columns_per_row - 1) * t.ccd_l;
        0.5 + self.way() + (t.cl + more + t.burst) as f64
    }

    /// Little's law.
    pub fn saturated_latency(&self) -> f64 {
        f64::from(self.0.controller.read_accesses) / self.sequential()
    }

    /// Mean wait of a fluid of load `load` behind a stop of `stop` clocks every `period` clocks.
    fn fluid_wait(stop: f64, period: f64, load: f64) -> f64 {
        stop * stop / (2.0 * period * (1.0 - load))
    }

    /// Evenly spaced sequential reads wait for refreshes, and for changes of the DRAM row.
    pub fn sequential_latency(&self, load: f64) -> f64 {
        let t = &self.0.timing;
        let map = &self.0.address;
        let rows = f64::from(map.page_bytes / 64 * map.bank_groups);
        let change = rows / (load * self.sequential_peak());
        self.idle_hit()
            + Self::fluid_wait(self.stop(), t.refi as f64, load)
            + Self::fluid_wait((t.rp + t.rcd) as f64, change, load)
    }

    /// Mean wait of random arrivals at a server with constant service time.
    fn random_wait(service: f64, load: f64) -> f64 {
        service * load / (2.0 * (1.0 - load))
    }

    /// Time for which a refresh stops random reads. The last row opened stays open for tRAS, and the time since then is
    /// that of random arrivals.
    fn random_stop(&self, interval: f64) -> f64 {
        let t = &self.0.timing;
        let ras = t.ras as f64;
        let open = ras - interval * (1.0 - (-ras / interval).exp());
        open + (t.rp + t.rfc) as f64
    }

    /// Mean wait of random reads for their bank and then, as responses are in order, for older reads of other banks.
    ///
    /// A read that waits `w` delays one that arrives `s` later and waits less than `w - s`. Reads arrive at random, so
    /// the number of reads that delay one beyond `x` is Poisson with mean `E[(W - x)+] / interval`, and the chance of
    /// none is its probability of zero.
    fn ordered_wait(&self, interval: f64) -> f64 {
        const STEP: f64 = 0.25;
        let cycle = self.bank_cycle(false);
        let banks = f64::from(self.0.address.banks());
        // Beyond ten service times no read waits at these loads.
        let steps = (10.0 * cycle / STEP) as usize;
        let waits: Vec<f64> = (0..steps)
            .map(|step| constant_service_wait(step as f64 * STEP, cycle, 1.0 / (interval * banks)))
            .collect();
        let (mut held, mut mean) = (0.0, 0.0);
        for own in waits.iter().rev() {
            held += (1.0 - own) * STEP / interval;
            mean += (1.0 - own * (-held).exp()) * STEP;
        }
        mean
    }

    /// Random reads at random times find another row open (or a bank closed by a refresh), and wait for their bank and
    /// older reads, for the activation window, and for refreshes.
    ///
    /// Reads queued behind a refresh are served at the peak rate of random reads. Meanwhile reads wait for banks and
    /// for older reads as at that rate.
    pub fn random_latency(&self, interval: f64) -> f64 {
        let t = &self.0.timing;
        let banks = f64::from(self.0.address.banks());
        let refi = t.refi as f64;
        let window = 1.0 / self.activation_peak();
        // Banks that a refresh closed and no read has used since.
        let accesses = refi / interval;
        let closed = banks * (1.0 - (-accesses / banks).exp()) / accesses;
        let open = (t.rcd as f64) + (1.0 - closed) * t.rp as f64;
        let fastest = self.up() / self.random();
        let load = fastest / interval;
        let stop = self.random_stop(interval);
        let behind_refresh = stop / (refi * (1.0 - load));
        let calm = self.ordered_wait(interval);
        self.idle_hit()
            + open
            + calm
            + Self::random_wait(window, window / interval)
            + Self::fluid_wait(stop, refi, load)
            + behind_refresh * (self.ordered_wait(fastest) - calm)
    }
}

/// Probability that the wait in a queue with constant service and random arrivals is at most `wait` (Erlang).
fn constant_service_wait(wait: f64, service: f64, rate: f64) -> f64 {
    let mut sum = 0.0;
    let mut factorial = 1.0;
    for ahead in 0..=(wait / service) as i32 {
        factorial *= f64::from(ahead.max(1));
        let rest = rate * (wait - f64::from(ahead) * service);
        sum += (-rest).powi(ahead) / factorial * rest.exp();
    }
    (1.0 - rate * service) * sum
}
